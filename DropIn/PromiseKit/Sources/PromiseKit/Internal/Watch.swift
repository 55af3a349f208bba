import Pledge
import Synchronization

/// Notices when a guarantee is let go of before its value is there, and logs that.
///
/// Whoever can still make or use the value holds the watch: the guarantee object, the function that
/// resolves it, the handler that computes it. With the last of them the watch goes, too.
@usableFromInline
class Watch: @unchecked Sendable {
  private struct State {
    var isKept = false
    /// Guarantees that have adopted this one, and so share its fate.
    var outer: [Watch] = []
  }

  // All there is to change; `@unchecked` for the sake of the subclass.
  private let state = Mutex(State())

  @usableFromInline
  init() {}

  deinit {
    if !isKept { conf.logHandler(.pendingGuaranteeDeallocated) }
  }

  /// Whether the value is there.
  final var isKept: Bool { state.withLock { $0.isKept } }

  /// Notes that the value is there: nothing is going to be lost.
  @usableFromInline
  final func keep() {
    let outer = state.withLock { state in
      state.isKept = true
      defer { state.outer = [] }
      return state.outer
    }
    for watch in outer { watch.keep() }
  }

  /// Notes that the guarantee has adopted the one that `inner` watches; nil if that has no watch.
  ///
  /// A guarantee that is itself adopted drops out here, so that a recursive chain keeps two watches
  /// and not all of them.
  @usableFromInline
  final func handOver(to inner: Watch?) {
    guard let inner, inner !== self else { return keep() }
    let heirs: [Watch] = state.withLock { state in
      if state.outer.isEmpty { return [self] }
      state.isKept = true
      defer { state.outer = [] }
      return state.outer
    }
    let isKept = inner.state.withLock { state in
      if !state.isKept { state.outer += heirs }
      return state.isKept
    }
    if isKept {
      for watch in heirs { watch.keep() }
    }
  }
}

/// The watch of a guarantee that is resolved by a function, and not by a handler.
@usableFromInline
final class ResolverWatch<T>: Watch, @unchecked Sendable {
  private let resolver: Pledge.Resolver<Boxed<T>>

  init(_ resolver: Pledge.Resolver<Boxed<T>>) {
    self.resolver = resolver
    super.init()
  }

  deinit {
    if !isKept { resolver.abandon() }
  }

  /// Resolves the guarantee, unless it is resolved already.
  func resolve(_ value: T) {
    keep()
    resolver.fulfill(Boxed(value))
  }
}
