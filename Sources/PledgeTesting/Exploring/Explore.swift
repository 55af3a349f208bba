import Dispatch
import Pledge

/// When the virtual time of a ``Simulation`` advances.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public enum SimulatedTime: Sendable, Hashable {
  /// Time advances only when no other step is ready, as if steps took no time.
  case passesWhenIdle
  /// Time can advance at any moment: a timer can fire before a handler that is ready runs, however
  /// distant its deadline is.
  case passesAnytime
}

/// Runs `body` in many orders of its steps, and throws the first order in which it fails.
///
/// ```swift
/// try await explore { simulation in
///   let account = Account(balance: 100)
///   let till = simulation.executor("till")
///   let office = simulation.executor("office")
///   _ = try await Promise.all(account.pay(10, on: till), account.pay(20, on: office)).value
///   try simulation.expect(account.balance == 130, "The balance is \(account.balance).")
/// }
/// ```
///
/// A step is a handler on an executor of the ``Simulation``; the part of a task, or of an actor's
/// turn, up to its next suspension; or a timer of the simulation's clock. Steps run one at a time
/// on one thread. If several are ready, the order determines the next one. `body` runs once for
/// each order, so it must create everything that it uses. It fails if it throws, if it waits for
/// something that never happens, or if it takes more than `steps` steps.
///
/// Handlers on Dispatch queues are steps, too, except on the main queue. Dispatch doesn't tell
/// whether a queue is concurrent, so each one but the global queues counts as serial: in place of a
/// concurrent queue of your own, pass `DispatchQueue.global()` or
/// ``Simulation/concurrentExecutor(_:)``. The main actor, real timers, connections, and
/// `DispatchQueue.async` run outside the simulation. An order in which they take part can't be
/// replayed. Virtual time doesn't pass while work on the main actor is under way, or a promise is
/// pending that you passed to ``TestClock/follow(_:)``. It does pass while other outside work is
/// under way, so that a timeout can fire first. Steps must not block their thread; `wait()` throws
/// `DeadlockError` in them unless the promise has settled.
///
/// An order also fails if one of its steps releases a rejection that no handler has received.
///
/// - Parameters:
///   - orders: The orders to try.
///   - time: When timers can fire.
///   - steps: The maximum number of steps in one run.
///   - patience: The real time to wait for work from outside the simulation when no step is ready. A
///     step that runs longer is named on standard error, after ten seconds at the latest.
///   - fileID: The file of the exploration.
///   - line: The line of the exploration.
///   - body: The code under test and the checks. It runs in a task on the thread of the simulation,
///     with the task-local values of the caller.
/// - Returns: The number of orders that were tried, and whether these are all orders.
/// - Throws: ``FailingOrderError``; `CancellationError` after the current run if the calling task
///   is cancelled; `PromiseError.invalidArgument` if the text to replay isn't an order, or the number
///   of orders is less than one.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
@discardableResult
public func explore(
  _ orders: Orders = .all(), time: SimulatedTime = .passesWhenIdle, steps: Int = 100_000,
  patience: Duration = .seconds(5), fileID: StaticString = #fileID, line: UInt = #line,
  _ body: @escaping @Sendable (Simulation) async throws -> Void
) async throws -> ExplorationReport {
  let settings = ExplorationSettings(
    time: orders.replayed?.time ?? time, stepLimit: steps, patience: patience)
  if case .invalid(let reason) = orders.kind { throw PromiseError.invalidArgument(reason) }
  var exploration = Exploration(orders.kind)
  let thread = DispatchQueue(label: "explore")
  while let chooser = exploration.next() {
    try Task.checkCancellation()
    let run = await ExploredRun.run(settings, chooser, body, on: thread)
    exploration.note(run)
    if let failure = run.failure, !run.isOfAnotherOrder || orders.replayed != nil {
      // Work from outside that came after virtual time had passed leaves no trace in the run.
      let again = await ExploredRun.run(settings, Chooser(run.order), body, on: thread)
      let hasWorkFromOutside = run.hasWorkFromOutside || again.hasWorkFromOutside
      throw FailingOrderError(
        order: run.order.description, error: failure, steps: run.lines,
        orderCount: exploration.report.orderCount,
        isRepeatable: !hasWorkFromOutside && again.failure != nil && again.lines == run.lines,
        hasWorkFromOutside: hasWorkFromOutside, origin: .init(fileID: fileID, line: line))
    }
  }
  return exploration.report
}

/// The result of an exploration in which no order failed.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public struct ExplorationReport: Sendable, Hashable {
  /// The number of orders that were tried.
  public internal(set) var orderCount = 0
  /// The total number of steps in all orders.
  public internal(set) var stepCount = 0
  /// Whether all orders were tried, up to the chosen number of deviations.
  ///
  /// It's false for random orders, if the limit of orders was reached, if work came from outside
  /// the simulation, or if the program took other steps in the same order. A concurrent queue of your own
  /// counts as serial, so the orders of its handlers aren't among them.
  public internal(set) var isComplete = false
}

/// The sequence of orders that an exploration tries.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
struct Exploration {
  private let kind: Orders.Kind
  private(set) var report = ExplorationReport()
  /// The orders to try, those with fewer deviations first.
  private var frontier: [Order] = []
  private var position = 0
  private var isCut = false

  init(_ kind: Orders.Kind) {
    self.kind = kind
    switch kind {
    case .all: frontier = [Order()]
    case .one(let order): frontier = [order]
    case .random, .invalid: break
    }
  }

  mutating func next() -> Chooser? {
    if case .random(let seed, let count) = kind {
      return report.orderCount < count
        ? Chooser(seed: seed &+ UInt64(report.orderCount)) : nil
    }
    guard position < frontier.count else { return nil }
    position += 1
    return Chooser(frontier[position - 1])
  }

  /// Adds the orders that deviate from a run's order at one more position.
  mutating func note(_ run: ExploredRun) {
    report.orderCount += 1
    report.stepCount += run.stepCount
    guard case .all(let limit, let deviations) = kind else { return }
    let order = run.order
    if run.hasWorkFromOutside || run.isOfAnotherOrder { isCut = true }
    if order.deviations.count < deviations ?? .max {
      // Each order is added only once: by the order without its last deviation.
      let first = (order.deviations.last?.position ?? -1) + 1
      for (position, choice) in run.choices.enumerated().dropFirst(first) {
        for other in 1..<choice.count {
          if frontier.count >= limit {
            isCut = true
            break
          }
          frontier.append(order)
          frontier[frontier.count - 1].deviations.append(.init(position: position, choice: other))
        }
      }
    }
    report.isComplete = !isCut && position == frontier.count
  }
}
