import Foundation
@_spi(DropIns) import Pledge

/// An object that logs if a guarantee is deallocated before it is resolved.
///
/// Everything that can resolve the guarantee or use its value retains the watch: the guarantee, the
/// function that resolves it, and the handler that computes its value. The watch is deallocated
/// with the last of them.
///
/// A guarantee that has adopted another one is resolved with it. Their watches therefore share a
/// ``Fate``, which counts its guarantees; a recursive chain of any length has one.
///
/// `@unchecked Sendable`: `flags` is atomic; `fate` is guarded by `sharing`.
@usableFromInline
class Watch: @unchecked Sendable {
  /// The shared state of guarantees that are resolved together.
  ///
  /// `@unchecked Sendable`: `count` is guarded by `sharing`, and `isKept` is atomic; no other
  /// thread can access them in `deinit`.
  private final class Fate: @unchecked Sendable {
    var count = 1
    let isKept = Atomic(false)

    deinit {
      if isKept.load(ordering: .acquiring) { return }
      for _ in 0..<count { conf.logHandler(.pendingGuaranteeDeallocated) }
    }
  }

  private static let kept: UInt64 = 1
  /// The flag of a watch that has a fate, which must be notified and does the logging.
  private static let shared: UInt64 = 2

  /// The lock for merging fates.
  ///
  /// All watches share one lock, so that two threads that merge the same fates in opposite order
  /// can't cause a guarantee to be logged as deallocated. The lock is Foundation's, because
  /// `Synchronization.Mutex` needs macOS 15 and iOS 18.
  private static let sharing = NSLock()

  private let flags = Atomic<UInt64>(0)
  private var fate: Fate?

  @usableFromInline
  init() {}

  deinit {
    if flags.load(ordering: .acquiring) == 0 { conf.logHandler(.pendingGuaranteeDeallocated) }
  }

  /// Whether the guarantee is resolved.
  final var isKept: Bool { flags.load(ordering: .acquiring) & Self.kept != 0 }

  /// Records that the guarantee is resolved, so that its deallocation isn't logged.
  @usableFromInline
  final func keep() {
    let old = flags.bitwiseOr(Self.kept, ordering: .acquiringAndReleasing)
    guard old & Self.shared != 0 else { return }
    Self.sharing.withLock { fate }?.isKept.store(true, ordering: .releasing)
  }

  /// Records that the guarantee has adopted the guarantee of `inner`, which is nil if that has no
  /// watch.
  @usableFromInline
  final func handOver(to inner: Watch?) {
    guard let inner, inner !== self else { return keep() }
    let previous = Self.sharing.withLock {
      let (own, new) = (fate, inner.sharedFate())
      if own === new { return own }
      new.count += own?.count ?? 1
      // The new fate counts these guarantees from now on.
      own?.isKept.store(true, ordering: .releasing)
      fate = new
      _ = flags.bitwiseOr(Self.shared, ordering: .acquiringAndReleasing)
      return own
    }
    withExtendedLifetime(previous) {}
  }

  /// Returns the fate of this watch, and creates it if necessary.
  ///
  /// Call it only under the lock.
  private final func sharedFate() -> Fate {
    if let fate { return fate }
    let fate = Fate()
    self.fate = fate
    let old = flags.bitwiseOr(Self.shared, ordering: .acquiringAndReleasing)
    if old & Self.kept != 0 { fate.isKept.store(true, ordering: .releasing) }
    return fate
  }
}

/// The watch of a guarantee that a function resolves, and not a handler.
///
/// `@unchecked Sendable`: as for `Watch`; `resolver` is immutable and `Sendable`.
@usableFromInline
final class ResolverWatch<T>: Watch, @unchecked Sendable {
  private let resolver: UnmanagedResolver<Boxed<T>>

  init(_ resolver: UnmanagedResolver<Boxed<T>>) {
    self.resolver = resolver
    super.init()
  }

  deinit {
    if !isKept { resolver.abandon() }
  }

  /// Resolves the guarantee, unless it is already resolved.
  func resolve(_ value: T) {
    keep()
    resolver.fulfill(Boxed(value))
  }
}
