import Pledge

/// A world for one run of a test body: executors and a clock whose steps run one at a time, in the
/// order that ``explore(_:time:steps:patience:fileID:line:_:)`` chose.
///
/// Give the program under test ``clock`` and executors made here in place of the ones that it uses
/// otherwise. Its tasks, actors and the test body itself take part automatically.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public final class Simulation: Sendable {
  /// The virtual time.
  ///
  /// It passes by itself; do not advance it.
  public let clock: TestClock

  let steps: StepQueue

  init() {
    let steps = StepQueue()
    self.steps = steps
    clock = TestClock { steps.noteSleeper() }
  }

  /// Creates an executor that runs its handlers one at a time, in the order in which they arrive,
  /// as a serial queue does.
  public func executor(_ name: String) -> SimulatedExecutor {
    SimulatedExecutor(name: name, isSerial: true, steps: steps)
  }

  /// Creates an executor that can run its handlers in any order, as a concurrent queue does.
  public func concurrentExecutor(_ name: String) -> SimulatedExecutor {
    SimulatedExecutor(name: name, isSerial: false, steps: steps)
  }

  /// Adds a line about the present step to the list of steps that a failure prints.
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
    throw ExpectationError(message(), origin: SourceLocation(fileID: fileID, line: line))
  }
}

/// An executor of a ``Simulation``: its handlers run when their step is chosen.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public final class SimulatedExecutor: PromiseExecutor {
  /// What the list of steps calls it.
  public let name: String
  private let isSerial: Bool
  private let steps: StepQueue

  init(name: String, isSerial: Bool, steps: StepQueue) {
    self.name = name
    self.isSerial = isSerial
    self.steps = steps
  }

  /// Makes the job a step.
  public func enqueue(_ job: PromiseJob) {
    steps.add(name, after: isSerial ? ObjectIdentifier(self) : nil) { job.run() }
  }
}
