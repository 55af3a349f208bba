import Dispatch
import Pledge

/// The steps that a simulated program can take next.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
final class StepQueue: Sendable {
  struct Step: Sendable {
    let number: Int
    /// The name of its executor.
    let name: String
    /// The serial executor on which older steps must run first.
    let line: ObjectIdentifier?
    /// The position of the step that enqueued it; nil for work from outside.
    let cause: Int?
    let run: @Sendable () -> Void
  }

  private struct State {
    /// The steps that are ready, oldest first; for each serial executor, only the oldest.
    private(set) var ready: [Step] = []
    /// For each serial executor of a ready step, its other steps, oldest first.
    private(set) var lines: [ObjectIdentifier: [Step]] = [:]
    var count = 0
    /// The number of steps that have started.
    var started = 0
    /// The position of the current step among those.
    var current: Int?
    /// The name of the executor of the step that started last.
    var name = ""
    /// Whether the steps run; before that, only the thread that creates the run adds any.
    var hasBegun = false
    var notes: [Int: [String]] = [:]
    /// Whether other threads added work, so that the run can't be repeated.
    var hasWorkFromOutside = false
    var isOpen = true
    /// The first unhandled rejection.
    var unhandled: PromiseDiagnostics.UnhandledRejection?

    mutating func add(_ step: Step) {
      if let line = step.line {
        if lines[line]?.append(step) != nil { return }
        lines[line] = []
      }
      ready.append(step)
    }

    mutating func takeReady(_ index: Int) -> Step {
      let step = ready.remove(at: index)
      guard let line = step.line else { return step }
      if let next = lines[line]?.first {
        lines[line]?.removeFirst()
        ready.insert(next, at: ready.firstIndex { $0.number > next.number } ?? ready.endIndex)
      } else {
        lines[line] = nil
      }
      return step
    }

    mutating func takeAll() -> [Step] {
      exchange(&ready, with: []) + exchange(&lines, with: [:]).values.joined()
    }
  }

  private let state = Mutex(State())
  private let arrivals = DispatchSemaphore(value: 0)

  /// Adds `run` as a step, or dispatches it to the global queue if the run has ended, so that work
  /// that outlives the run continues.
  func add(
    _ name: String, after line: ObjectIdentifier?, _ run: @escaping @Sendable () -> Void
  ) {
    let isForeign: Bool? = state.withLock { state in
      guard state.isOpen else { return nil }
      let isForeign = noteCaller(&state)
      state.count += 1
      state.add(
        Step(
          number: state.count, name: name, line: line, cause: isForeign ? nil : state.current,
          run: run))
      return isForeign
    }
    switch isForeign {
    case true?: arrivals.signal()
    case false?: break
    case nil: DispatchQueue.global().async(execute: run)
    }
  }

  /// Notes that the steps run from now on, in `Following.run`.
  func begin() { state.withLock { $0.hasBegun = true } }

  /// Notes and returns whether the caller is outside the simulation.
  private func noteCaller(_ state: inout State) -> Bool {
    let isForeign = state.hasBegun && Following.steps !== self
    if isForeign { state.hasWorkFromOutside = true }
    return isForeign
  }

  /// The number of steps that are ready.
  var readyCount: Int { state.withLock { $0.ready.count } }

  /// Removes and returns the ready step with this index, by age.
  func takeReady(_ index: Int) -> Step { state.withLock { $0.takeReady(index) } }

  /// Runs `body` as a step, also one that wasn't enqueued.
  func runStep(_ name: String, _ body: () -> Void) {
    state.withLock { state in
      state.started += 1
      state.current = state.started
      state.name = name
    }
    body()
    state.withLock { $0.current = nil }
  }

  /// Says once on standard error which step has run for `time`, until the calling task is cancelled.
  func reportBlockedStep(after time: Duration) async throws {
    while true {
      let last = state.withLock { $0.current }
      try await Task.sleep(for: min(max(time, .milliseconds(10)), .seconds(10)))
      let (current, name) = state.withLock { ($0.current, $0.name) }
      guard let current, current == last else { continue }
      return StandardError.write(
        "An exploration waits for its step \(current) (\(name)), which hasn't returned. Steps must not "
          + "block, because all of them run on one thread.\n")
    }
  }

  func note(_ text: String) {
    state.withLock { state in state.notes[state.current ?? 0, default: []].append(text) }
  }

  /// Returns the notes of the step at a position, counted from 1.
  func notes(of position: Int) -> [String] { state.withLock { $0.notes[position] ?? [] } }

  /// Keeps an unhandled rejection of the run.
  func note(_ rejection: PromiseDiagnostics.UnhandledRejection) {
    let extra = state.withLock { state -> PromiseDiagnostics.UnhandledRejection? in
      guard state.unhandled == nil else { return rejection }
      state.unhandled = rejection
      return nil
    }
    withExtendedLifetime(extra) {}
  }

  var unhandledRejection: PromiseDiagnostics.UnhandledRejection? {
    state.withLock { $0.unhandled }
  }

  func noteWorkFromOutside() { state.withLock { $0.hasWorkFromOutside = true } }

  var hasWorkFromOutside: Bool { state.withLock { $0.hasWorkFromOutside } }

  /// Wakes this queue's thread if another thread has added a sleeper to the clock.
  func noteSleeper() {
    let isForeign = state.withLock { $0.isOpen && noteCaller(&$0) }
    if isForeign { arrivals.signal() }
  }

  /// Blocks until another thread adds a step, or a sleeper to the clock, or until the limit is
  /// reached.
  ///
  /// - Returns: Whether another thread added one.
  func waitForArrival(_ limit: Duration) -> Bool {
    arrivals.wait(timeout: .now() + max(0, limit / .seconds(1))) == .success
  }

  /// Ends the run: waiting and later steps are dispatched to the global queue.
  func close() {
    let left = state.withLock { state in
      state.isOpen = false
      return state.takeAll()
    }
    for step in left { DispatchQueue.global().async(execute: step.run) }
  }
}

/// The executor of the test body's task.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
final class BodyExecutor: TaskExecutor {
  private let steps: StepQueue

  init(_ steps: StepQueue) { self.steps = steps }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    steps.add("the test", after: nil) { [self] in
      job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}
