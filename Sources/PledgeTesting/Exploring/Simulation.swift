import Pledge

/// The executors and the clock for one run of a test body, whose steps run one at a time in the
/// order that ``explore(_:time:steps:patience:fileID:line:_:)`` chose.
///
/// Pass ``clock`` and the simulation's executors to the code under test, in place of those that it
/// otherwise uses. Its tasks and actors, and the test body, take part automatically.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public final class Simulation: Sendable {
  /// The virtual time.
  ///
  /// The time advances automatically; don't advance it.
  public let clock: TestClock

  let steps: StepQueue

  init() {
    let steps = StepQueue()
    self.steps = steps
    clock = TestClock { steps.noteSleeper() }
  }

  /// Creates an executor that runs its handlers one at a time, in the order in which they are
  /// enqueued, as a serial queue does.
  public func executor(_ name: String) -> SimulatedExecutor {
    SimulatedExecutor(name: name, isSerial: true, steps: steps)
  }

  /// Creates an executor that can run its handlers in any order, as a concurrent queue does.
  public func concurrentExecutor(_ name: String) -> SimulatedExecutor {
    SimulatedExecutor(name: name, isSerial: false, steps: steps)
  }

  /// Adds a line to the current step in the list of steps that a failure prints.
  public func note(_ text: @autoclosure () -> String) {
    let text = text()
    steps.note(text)
  }

  /// Throws an ``ExpectationError`` with `message` unless `condition` is true.
  public func expect(
    _ condition: Bool, _ message: @autoclosure () -> String, fileID: StaticString = #fileID,
    line: UInt = #line
  ) throws {
    if condition { return }
    throw ExpectationError(message(), fileID, line)
  }
}

/// An executor of a ``Simulation``: its handlers run when their step is chosen.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public final class SimulatedExecutor: PromiseExecutor {
  /// The executor's name in the list of steps.
  public let name: String
  private let isSerial: Bool
  private let steps: StepQueue

  init(name: String, isSerial: Bool, steps: StepQueue) {
    self.name = name
    self.isSerial = isSerial
    self.steps = steps
  }

  /// Adds the job as a step.
  public func enqueue(_ job: PromiseJob) {
    steps.add(name, after: isSerial ? ObjectIdentifier(self) : nil) { job.run() }
  }
}
