import Dispatch
import Foundation
import Synchronization

/// Consumes a value, so that the work that created it can't be optimized away.
///
/// To keep an object alive, `withExtendedLifetime` is cheaper.
@inline(never)
@_optimize(none)
func consume<Value>(_ value: borrowing Value) {}

/// Consumes a value like the generic function, without lookups at run time.
@inline(never)
@_optimize(none)
func consume(_ value: Int) {}

/// Traps unless the library computed the expected result.
@inline(__always)
func check(_ actual: Int, is expected: Int) {
  precondition(actual == expected, "got \(actual), expected \(expected)")
}

/// A variable for a result that a handler writes on another thread.
///
/// The semaphore or latch that the reader waits for orders the accesses. They aren't checked for
/// exclusivity, which would cost more than some of the work that is measured.
final class Slot<Value>: @unchecked Sendable {
  @exclusivity(unchecked) var value: Value

  init(_ value: Value) { self.value = value }
}

/// Blocks a thread until a number of events have happened.
final class Latch: Sendable {
  private let remaining: Atomic<Int>
  private let done = DispatchSemaphore(value: 0)

  init(_ count: Int) { remaining = Atomic(count) }

  @inline(__always)
  func countDown() {
    if remaining.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { done.signal() }
  }

  func wait() { done.wait() }
}

/// Calls `left` and `right` with the same numbers on two threads that stay close together.
///
/// Neither gets more than a few dozen numbers ahead, so that they do collide. They aren't in
/// lockstep, because that would measure the synchronization.
func contend(
  _ count: Int, _ left: @escaping @Sendable (Int) -> Void,
  _ right: @escaping @Sendable (Int) -> Void
) {
  let (leftDone, rightDone) = (Milestone(), Milestone())
  let finished = DispatchSemaphore(value: 0)
  Thread.detachNewThread {
    run(count, right, publish: rightDone, follow: leftDone)
    finished.signal()
  }
  run(count, left, publish: leftDone, follow: rightDone)
  finished.wait()
}

private final class Milestone: Sendable { let count = Atomic(0) }

private func run(
  _ count: Int, _ body: (Int) -> Void, publish own: Milestone, follow other: Milestone
) {
  let stride = 32
  for number in 0..<count {
    if number % stride == 0 {
      own.count.store(number, ordering: .releasing)
      var spins = 0
      while other.count.load(ordering: .acquiring) + stride < number {
        spins += 1
        if spins > 1_000 { sched_yield() }
      }
    }
    body(number)
  }
  own.count.store(.max / 2, ordering: .releasing)
}
