import Dispatch
import Pledge

/// The steps that a simulated program can take next.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
final class StepQueue: Sendable {
  struct Step: Sendable {
    let number: Int
    /// What runs it.
    let name: String
    /// The serial executor on which it has to wait for older steps.
    let line: ObjectIdentifier?
    /// The step that made it; nil for work that came from outside.
    let cause: Int?
    let run: @Sendable () -> Void
  }

  private struct State {
    var waiting: [Step] = []
    var count = 0
    /// The step that runs.
    var current: Int?
    var thread = ThreadID.current
    var notes: [Int: [String]] = [:]
    /// Work that came from other threads makes runs that cannot be repeated.
    var hasWorkFromOutside = false
    var isOpen = true
  }

  private let state = Mutex(State())
  private let arrivals = DispatchSemaphore(value: 0)

  /// Makes `run` a step; when the run is over it goes to the global queue instead, so that nothing
  /// that outlives the run hangs.
  func add(
    _ name: String, after line: ObjectIdentifier?, _ run: @escaping @Sendable () -> Void
  ) {
    let isForeign: Bool? = state.withLock { state in
      guard state.isOpen else { return nil }
      let isForeign = state.thread != .current
      if isForeign { state.hasWorkFromOutside = true }
      state.count += 1
      state.waiting.append(
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

  /// The thread that is going to run the steps.
  func claim() { state.withLock { $0.thread = .current } }

  /// The steps that can be next, the oldest first: of those on one serial executor only the oldest.
  func candidates() -> [Step] {
    state.withLock { state in
      var lines: Set<ObjectIdentifier> = []
      return state.waiting.filter { step in step.line.map { lines.insert($0).inserted } ?? true }
    }
  }

  func run(_ step: Step) {
    state.withLock { state in
      state.waiting.removeAll { $0.number == step.number }
      state.current = step.number
    }
    step.run()
    state.withLock { $0.current = nil }
  }

  /// Takes a number for a step that is not one of the queue's, and runs it.
  ///
  /// - Returns: The number.
  func run(_ body: () -> Void) -> Int {
    let number = state.withLock { state in
      state.count += 1
      state.current = state.count
      return state.count
    }
    body()
    state.withLock { $0.current = nil }
    return number
  }

  func note(_ text: String) {
    state.withLock { state in state.notes[state.current ?? 0, default: []].append(text) }
  }

  func notes(of step: Int) -> [String] { state.withLock { $0.notes[step] ?? [] } }

  var hasWorkFromOutside: Bool { state.withLock { $0.hasWorkFromOutside } }

  /// To be called when the clock has a new sleeper, which another thread may have added while this
  /// queue's thread waits.
  func noteSleeper() {
    let isForeign = state.withLock { state in
      let isForeign = state.isOpen && state.thread != .current
      if isForeign { state.hasWorkFromOutside = true }
      return isForeign
    }
    if isForeign { arrivals.signal() }
  }

  /// Blocks until another thread adds a step, or a sleeper to the clock, for a limited time.
  ///
  /// - Returns: Whether one did.
  func waitForArrival(_ limit: DispatchTimeInterval) -> Bool {
    arrivals.wait(timeout: .now() + limit) == .success
  }

  /// Sends all that comes from now on elsewhere.
  func close() {
    let left = state.withLock { state in
      state.isOpen = false
      return exchange(&state.waiting, with: [])
    }
    for step in left { DispatchQueue.global().async(execute: step.run) }
  }
}

/// Runs the test body's task.
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
