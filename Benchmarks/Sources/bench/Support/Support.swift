import Dispatch
import Foundation
import Synchronization

/// Takes a value, so that the work that made it cannot be optimized away.
///
/// To keep an object alive, `withExtendedLifetime` is cheaper.
@inline(never)
@_optimize(none)
func consume<Value>(_ value: borrowing Value) {}

/// As the generic one, with nothing to look up at run time.
@inline(never)
@_optimize(none)
func consume(_ value: Int) {}

/// Traps unless the library computed what it should.
@inline(__always)
func check(_ actual: Int, is expected: Int) {
  precondition(actual == expected, "got \(actual), expected \(expected)")
}

/// A place for a result that a handler leaves on another thread.
///
/// The semaphore or latch that the reader waits for orders the accesses. They are not checked for
/// exclusivity, which would cost more than some of the work that is measured.
final class Slot<Value>: @unchecked Sendable {
  @exclusivity(unchecked) var value: Value

  init(_ value: Value) { self.value = value }
}

/// Lets one thread wait until a number of things have happened.
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

/// When the code that starts chains waits for them.
enum Pace {
  /// For each one before the next begins.
  case oneByOne
  /// For all of them at the end.
  case together
}

/// Waits for chains.
final class Finish: Sendable {
  private let all: Latch
  private let one: DispatchSemaphore?

  init(of chains: Int, _ pace: Pace) {
    all = Latch(chains)
    one = pace == .oneByOne ? DispatchSemaphore(value: 0) : nil
  }

  @inline(__always)
  func chainEnded() {
    all.countDown()
    one?.signal()
  }

  /// To be called when a chain has been set off.
  func waitForChain() { one?.wait() }

  func waitForAll() { all.wait() }
}

/// Calls `left` and `right` with the same numbers on two threads that keep abreast.
///
/// Neither gets more than a few dozen numbers ahead, so that they really do meet; in step they are
/// not, for that would measure the stepping.
func contend(
  _ count: Int, _ left: @escaping @Sendable (Int) -> Void,
  _ right: @escaping @Sendable (Int) -> Void
) {
  let leftDone = Milestone()
  let rightDone = Milestone()
  let finished = DispatchSemaphore(value: 0)
  Thread.detachNewThread {
    run(count, right, publish: rightDone, follow: leftDone)
    finished.signal()
  }
  run(count, left, publish: leftDone, follow: rightDone)
  finished.wait()
}

private final class Milestone: Sendable {
  let count = Atomic(0)
}

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
