import Synchronization

/// A number that any thread can increment.
final class AtomicCounter: Sendable {
  private let count = Atomic(0)

  var value: Int { count.load(ordering: .relaxed) }

  /// Returns the new number.
  @discardableResult
  func increment() -> Int { count.add(1, ordering: .relaxed).newValue }
}
