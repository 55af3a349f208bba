import Foundation
import Pledge

/// Notices when a guarantee is deallocated before its value is there, and logs that.
///
/// All that can still make or use the value holds the watch: the guarantee object, the function that
/// resolves it, the handler that computes it. The watch is deallocated with the last of them.
///
/// A guarantee that has adopted another one shares its fate from then on. So their watches share a
/// ``Fate``, which counts the guarantees it stands for: a recursive chain of any length has one.
///
/// `@unchecked Sendable`: `flags` is atomic; `fate` is guarded by `sharing`.
@usableFromInline
class Watch: @unchecked Sendable {
  /// The common fate of several guarantees.
  ///
  /// Guarded by `sharing` but for `isKept`, which is atomic; `deinit` has it to itself.
  private final class Fate: @unchecked Sendable {
    var count = 1
    let isKept = _Atomic(false)

    deinit {
      if isKept.load(ordering: .acquiring) { return }
      for _ in 0..<count { conf.logHandler(.pendingGuaranteeDeallocated) }
    }
  }

  private static let kept: UInt8 = 1
  /// There is a fate, which is to be told and will do the logging.
  private static let shared: UInt8 = 2

  /// Held while fates are brought together.
  ///
  /// One lock for all watches, as a guarantee must not be taken for lost because two threads join
  /// its fate with others the opposite way round. A lock of Foundation's, since the thread sanitizer
  /// cannot follow `Synchronization.Mutex` on Linux.
  private static let sharing = NSLock()

  private let flags = _Atomic<UInt8>(0)
  private var fate: Fate?

  @usableFromInline
  init() {}

  deinit {
    if flags.load(ordering: .acquiring) == 0 { conf.logHandler(.pendingGuaranteeDeallocated) }
  }

  /// Whether the value is there.
  final var isKept: Bool { flags.load(ordering: .acquiring) & Self.kept != 0 }

  /// Notes that the value is there: nothing is going to be lost.
  @usableFromInline
  final func keep() {
    let old = flags.bitwiseOr(Self.kept, ordering: .acquiringAndReleasing).oldValue
    guard old & Self.shared != 0 else { return }
    Self.sharing.withLock { fate }?.isKept.store(true, ordering: .releasing)
  }

  /// Notes that the guarantee has adopted the one that `inner` watches; nil if that has no watch.
  @usableFromInline
  final func handOver(to inner: Watch?) {
    guard let inner, inner !== self else { return keep() }
    let previous = Self.sharing.withLock {
      let (own, new) = (fate, inner.sharedFate())
      if own === new { return own }
      new.count += own?.count ?? 1
      // Counted elsewhere from now on.
      own?.isKept.store(true, ordering: .releasing)
      fate = new
      _ = flags.bitwiseOr(Self.shared, ordering: .acquiringAndReleasing)
      return own
    }
    withExtendedLifetime(previous) {}
  }

  /// The fate of this watch, made if need be.
  ///
  /// To be called with the lock held.
  private final func sharedFate() -> Fate {
    if let fate { return fate }
    let fate = Fate()
    self.fate = fate
    let old = flags.bitwiseOr(Self.shared, ordering: .acquiringAndReleasing).oldValue
    if old & Self.kept != 0 { fate.isKept.store(true, ordering: .releasing) }
    return fate
  }
}

/// The watch of a guarantee that is resolved by a function, and not by a handler.
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

  /// Resolves the guarantee, unless it is resolved already.
  func resolve(_ value: T) {
    keep()
    resolver.fulfill(Boxed(value))
  }
}
