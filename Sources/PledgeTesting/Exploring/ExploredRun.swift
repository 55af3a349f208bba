import Pledge

/// What does not change from run to run.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
struct ExplorationSettings: Sendable {
  let time: SimulatedTime
  let stepLimit: Int
  let patience: Duration
}

/// Why a run failed, other than by an error of the test body.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
enum RunFailure: Error, CustomStringConvertible {
  case stuck
  case tooManySteps(Int)
  case notRepeatable

  var description: String {
    switch self {
    case .stuck:
      "nothing is left to run, no task sleeps, and the test body still waits"
    case .tooManySteps(let limit):
      "the test body had not ended after \(counted(limit, "step"))"
    case .notRepeatable:
      "the order asks for a step that does not exist: the program did something else this time"
    }
  }
}

/// One run of a test body in one order.
///
/// `@unchecked Sendable`: made by one thread, then used by the one that runs the steps, and read
/// after that; the exploration hands it over.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
final class ExploredRun: @unchecked Sendable {
  private let settings: ExplorationSettings
  private let simulation = Simulation()
  private var chooser: any Chooser
  private let outcome = Outcome()
  private let task: Task<Void, Never>

  /// How many steps there were to choose from, and which was chosen, where there were several.
  private(set) var choices: [(count: Int, choice: Int)] = []
  private(set) var failure: (any Error)?
  private var log: [(step: Int, text: String)] = []

  /// How the test body ended.
  private final class Outcome: Sendable {
    private let result = Mutex<Result<Void, any Error>?>(nil)
    var value: Result<Void, any Error>? { result.withLock { $0 } }
    func set(_ new: Result<Void, any Error>) { result.withLock { $0 = new } }
  }

  /// Makes the task of the test body, which has the task-local values of the calling task.
  init(
    _ settings: ExplorationSettings, _ chooser: any Chooser,
    _ body: @escaping @Sendable (Simulation) async throws -> Void
  ) {
    self.settings = settings
    self.chooser = chooser
    task = Task(executorPreference: BodyExecutor(simulation.steps)) { [simulation, outcome] in
      do {
        try await body(simulation)
        outcome.set(.success(()))
      } catch {
        outcome.set(.failure(error))
      }
    }
  }

  var order: Order {
    Order(
      choices.enumerated().filter { $0.element.choice > 0 }.map {
        Order.Deviation(position: $0.offset, choice: $0.element.choice)
      })
  }

  var stepCount: Int { log.count }

  /// Whether the same order leads to the same steps again, as far as that can be seen.
  var isRepeatable: Bool { !simulation.steps.hasWorkFromOutside }

  /// The steps in words, with what they noted.
  var lines: [String] {
    log.enumerated().flatMap { index, entry in
      ["\(index + 1). \(entry.text)"]
        + simulation.steps.notes(of: entry.step).map { "     \($0)" }
    }
  }

  /// Runs all steps on the calling thread, which it blocks.
  func run() {
    TaskCapture.capturing(by: simulation.steps) {
      do {
        while try takeStep() {}
        try outcome.value?.get()
      } catch {
        failure = error
      }
      tidyUp()
    }
  }

  /// - Returns: Whether there may be another step.
  private func takeStep() throws -> Bool {
    let hasEnded = outcome.value != nil
    let ready = simulation.steps.candidates()
    let passesTime = !hasEnded && (ready.isEmpty || settings.time == .passesAnytime)
    let sleepers = passesTime ? simulation.clock.dueSleeperCount : 0
    if ready.isEmpty, sleepers == 0 {
      if hasEnded { return false }
      // Whatever the body waits for is not a part of the simulation, or never comes.
      guard simulation.steps.waitForArrival(settings.patience.interval) else {
        throw RunFailure.stuck
      }
      return true
    }
    guard log.count < settings.stepLimit else { throw RunFailure.tooManySteps(log.count) }
    let choice = try choose(of: ready.count + sleepers)
    if choice < ready.count { run(ready[choice]) } else { wake(choice - ready.count) }
    return true
  }

  private func choose(of count: Int) throws -> Int {
    if count == 1 { return 0 }
    guard let choice = chooser.choose(of: count) else { throw RunFailure.notRepeatable }
    choices.append((count, choice))
    return choice
  }

  private func run(_ step: StepQueue.Step) {
    let cause = log.firstIndex { $0.step == step.cause }.map { ", made by step \($0 + 1)" } ?? ""
    log.append((step.number, step.name + cause))
    // A task that goes to sleep does so as a part of the step.
    simulation.clock.wokenTasks.runInPlace { simulation.steps.run(step) }
  }

  private func wake(_ index: Int) {
    let time = simulation.clock.nextDeadline?.offset ?? .zero
    let step = simulation.steps.run { simulation.clock.wakeDue(index) }
    log.append((step, "a timer, at \(time)"))
  }

  /// Ends what the run has left, so that no task stays suspended forever.
  private func tidyUp() {
    if outcome.value == nil { task.cancel() }
    simulation.clock.wokenTasks.runInPlace { simulation.clock.close() }
    for _ in 0..<settings.stepLimit {
      guard let step = simulation.steps.candidates().first else { return }
      simulation.clock.wokenTasks.runInPlace { simulation.steps.run(step) }
    }
  }
}
