import Pledge
import Synchronization

/// Notices when a guarantee is let go of before its value is there, and logs that.
///
/// Whoever can still make or use the value holds the watch: the guarantee object, the function that
/// resolves it, the handler that computes it. With the last of them the watch goes, too.
@usableFromInline
final class Watch<T>: Sendable {
  private struct State {
    var isKept = false
    /// Guarantees that have adopted this one, and so share its fate.
    var outer: [Watch<T>] = []
  }

  private let state = Mutex(State())
  private let resolver: Pledge.Resolver<Boxed<T>>?

  /// Watches a guarantee that a handler resolves, or one that `resolver` does.
  @usableFromInline
  init(_ resolver: Pledge.Resolver<Boxed<T>>? = nil) { self.resolver = resolver }

  deinit {
    guard !state.withLock({ $0.isKept }) else { return }
    conf.logHandler(.pendingGuaranteeDeallocated)
    resolver?.abandon()
  }

  /// Resolves the guarantee, unless it is resolved already.
  @usableFromInline
  func resolve(_ value: T) {
    keep()
    resolver?.fulfill(Boxed(value))
  }

  /// Notes that the value is there: nothing is going to be lost.
  @usableFromInline
  func keep() {
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
  func handOver(to inner: Watch<T>?) {
    guard let inner, inner !== self else { return keep() }
    let heirs: [Watch<T>] = state.withLock { state in
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
