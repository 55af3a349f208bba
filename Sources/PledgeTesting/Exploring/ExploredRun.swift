import Dispatch
import Pledge

/// The settings of all runs of an exploration.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
struct ExplorationSettings: Sendable {
  let time: SimulatedTime
  let stepLimit: Int
  let patience: Duration
}

/// The reason why a run failed, other than an error of the test body.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
enum RunFailure: Error, CustomStringConvertible {
  case stuck
  case tooManySteps(Int)
  case doesNotFit(String)
  case unhandled(PromiseDiagnostics.UnhandledRejection)

  var description: String {
    switch self {
    case .stuck:
      "no step is ready, virtual time can't pass, and the test body is still waiting"
    case .tooManySteps(let limit):
      "the test body had not ended after \(counted(limit, "step"))"
    case .doesNotFit(let reason):
      "the order doesn't fit the steps that the program took this time: \(reason)"
    case .unhandled(let rejection):
      "\(rejection)"
    }
  }
}

/// One run of a test body in one order.
///
/// `@unchecked Sendable`: created by one thread, then used only by the thread that runs the steps,
/// and read after that; the exploration passes it between the threads.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
final class ExploredRun: @unchecked Sendable {
  private let settings: ExplorationSettings
  private let simulation = Simulation()
  private var chooser: Chooser
  /// How the test body ended.
  private let outcome = Recorder<Result<Void, any Error>>()
  private let task: Task<Void, Never>

  /// The number of ready steps and the index of the chosen one, each time that several were ready.
  private(set) var choices: [(count: Int, choice: Int)] = []
  private(set) var failure: (any Error)?
  /// Descriptions of the steps, in their order.
  private var log: [String] = []

  /// Creates the test body's task, which inherits the task-local values of the calling task.
  init(
    _ settings: ExplorationSettings, _ chooser: Chooser,
    _ body: @escaping @Sendable (Simulation) async throws -> Void
  ) {
    self.settings = settings
    self.chooser = chooser
    task = Task(executorPreference: BodyExecutor(simulation.steps)) { [simulation, outcome] in
      do {
        try await body(simulation)
        outcome.record(.success(()))
      } catch {
        outcome.record(.failure(error))
      }
    }
  }

  var order: Order {
    let deviations = choices.enumerated().filter { $0.element.choice > 0 }
      .map { Order.Deviation(position: $0.offset, choice: $0.element.choice) }
    return Order(deviations: deviations, time: settings.time)
  }

  var stepCount: Int { log.count }

  /// Whether the program took other steps than those for which the order was made.
  var isOfAnotherOrder: Bool {
    if case RunFailure.doesNotFit? = failure { true } else { false }
  }

  /// Whether work from outside the simulation took part, so that the run can't be repeated.
  var hasWorkFromOutside: Bool { simulation.steps.hasWorkFromOutside }

  /// Descriptions of the steps, with their notes.
  var lines: [String] {
    log.enumerated().flatMap { index, text in
      ["\(index + 1). \(text)"] + simulation.steps.notes(of: index + 1).map { "     \($0)" }
    }
  }

  /// Creates a run, and runs all its steps on `thread`.
  static func run(
    _ settings: ExplorationSettings, _ chooser: Chooser,
    _ body: @escaping @Sendable (Simulation) async throws -> Void, on thread: DispatchQueue
  ) async -> ExploredRun {
    let run = ExploredRun(settings, chooser, body)
    let report = Task { [steps = run.simulation.steps] in
      try await steps.reportBlockedStep(after: settings.patience)
    }
    defer { report.cancel() }
    await withCheckedContinuation { continuation in
      thread.async {
        run.run()
        continuation.resume()
      }
    }
    return run
  }

  /// Runs all steps on the calling thread, which it blocks.
  private func run() {
    simulation.steps.begin()
    Following.run(as: [simulation.clock.work], steps: simulation.steps) {
      do {
        while try takeStep() {}
        try outcome.events.first?.get()
        try chooser.end()
      } catch {
        failure = error
      }
      tidyUp()
    }
    simulation.steps.close()
    if failure == nil, let rejection = simulation.steps.unhandledRejection {
      failure = RunFailure.unhandled(rejection)
    }
  }

  /// Runs one step, or waits for work from outside.
  ///
  /// - Returns: Whether there can be another step.
  private func takeStep() throws -> Bool {
    let hasEnded = outcome.events.first != nil
    if !hasEnded, simulation.steps.readyCount == 0 {
      // Work on the main queue, or a followed promise.
      simulation.clock.work.waitUntilIdle { .milliseconds(100) * $0 < settings.patience }
      if !simulation.clock.work.isIdle { throw RunFailure.stuck }
    }
    let readyCount = simulation.steps.readyCount
    let passesTime = !hasEnded && (readyCount == 0 || settings.time == .passesAnytime)
    let sleepers = passesTime ? simulation.clock.dueSleeperCount : 0
    if readyCount == 0, sleepers == 0 {
      if hasEnded { return false }
      // The body waits for something outside the simulation, or for something that never happens.
      guard simulation.steps.waitForArrival(settings.patience) else {
        throw RunFailure.stuck
      }
      return true
    }
    guard log.count < settings.stepLimit else { throw RunFailure.tooManySteps(log.count) }
    let choice = try choose(of: readyCount + sleepers)
    if choice < readyCount {
      run(simulation.steps.takeReady(choice))
    } else {
      wake(choice - readyCount)
    }
    return true
  }

  private func choose(of count: Int) throws -> Int {
    if count == 1 { return 0 }
    let choice = try chooser.choose(of: count)
    choices.append((count, choice))
    return choice
  }

  private func run(_ step: StepQueue.Step) {
    log.append(step.name + (step.cause.map { ", made by step \($0)" } ?? ""))
    simulation.steps.runStep(step.name, step.run)
  }

  private func wake(_ index: Int) {
    let time = simulation.clock.nextDeadline?.offset ?? .zero
    log.append("a timer, at \(time)")
    simulation.steps.runStep("a timer") { simulation.clock.wakeDue(index) }
  }

  /// Ends unfinished work, so that no task stays suspended forever.
  private func tidyUp() {
    if outcome.events.first == nil { task.cancel() }
    simulation.clock.close()
    for _ in 0..<max(settings.stepLimit, 0) {
      if simulation.steps.readyCount == 0 { return }
      let step = simulation.steps.takeReady(0)
      simulation.steps.runStep(step.name, step.run)
    }
  }
}
