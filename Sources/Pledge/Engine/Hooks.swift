import Synchronization

/// The word behind `Hooks.flags`.
///
/// `nonisolated(unsafe)`: only touched through `Hooks`, atomically.
@exclusivity(unchecked) @usableFromInline nonisolated(unsafe) var hookWord: UInt = 0

/// Which of the rarely used services are switched on, in one word, so that all of them together
/// cost one load while they are off.
@usableFromInline
enum Hooks {
  static let tracing: UInt = 1
  @usableFromInline static let taskLocals: UInt = 2

  @inlinable @inline(__always)
  static var flags: UInt { withAtomic(&hookWord) { $0.load(ordering: .relaxed) } }

  static func set(_ flag: UInt, _ isOn: Bool) {
    _ = withAtomic(&hookWord) { word in
      isOn
        ? word.bitwiseOr(flag, ordering: .acquiringAndReleasing)
        : word.bitwiseAnd(~flag, ordering: .acquiringAndReleasing)
    }
  }
}
