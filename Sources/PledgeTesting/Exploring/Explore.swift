import Dispatch
import Pledge

/// When the virtual time of a ``Simulation`` passes.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public enum SimulatedTime: Sendable, Hashable {
  /// When nothing else can run, as if all steps took no time.
  case passesWhenIdle
  /// At any moment: a timer can fire before a handler that is ready runs, however distant its
  /// deadline is.
  case passesAnytime
}

/// Runs `body` in many orders of its steps, and throws a ``FailingOrderError`` if it fails in one.
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
/// A step is a handler on an executor of the ``Simulation``, a task or an actor's turn up to its
/// next suspension, or a timer of its clock. The steps run one at a time on one thread, and whenever
/// several could be next, the order decides. `body` starts anew for each order, so it makes all
/// that it uses; it fails if it throws, if it waits for something that never comes, or if it takes
/// more than `steps` steps.
///
/// What is not a step runs outside the simulation, and makes failures that cannot be replayed:
/// handlers on queues of Dispatch and on the main actor, real timers and connections,
/// `Task.yield()` in tasks that the program makes itself. No step may block its thread.
///
/// - Parameters:
///   - orders: Which orders to try.
///   - time: When timers may go off.
///   - steps: How many steps one run can take.
///   - patience: How long, in real time, to wait for work from outside when the simulation has
///     nothing left to run.
///   - fileID: The file of the exploration.
///   - line: The line of the exploration.
///   - body: The program and the checks. It runs in a task on the thread of the simulation, with the
///     task-local values of the caller.
/// - Returns: How many orders were tried, and whether these were all.
/// - Throws: ``FailingOrderError``; `CancellationError` if the calling task is cancelled, after the
///   present run; `PromiseError.invalidArgument` for an order to replay that cannot be read.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
@discardableResult
public func explore(
  _ orders: Orders = .all(), time: SimulatedTime = .passesWhenIdle, steps: Int = 100_000,
  patience: Duration = .seconds(5), fileID: StaticString = #fileID, line: UInt = #line,
  _ body: @escaping @Sendable (Simulation) async throws -> Void
) async throws -> ExplorationReport {
  let settings = ExplorationSettings(time: time, stepLimit: steps, patience: patience)
  if case .unreadable(let text) = orders.kind {
    throw PromiseError.invalidArgument(
      "\(quoted(text)) is no order; pass what a failure printed.")
  }
  var exploration = Exploration(orders.kind)
  let thread = DispatchQueue(label: "explore")
  while let chooser = exploration.next() {
    try Task.checkCancellation()
    let run = ExploredRun(settings, chooser, body)
    await withCheckedContinuation { continuation in
      thread.async {
        run.run()
        continuation.resume()
      }
    }
    exploration.note(run)
    if let failure = run.failure {
      throw FailingOrderError(
        order: run.order.description, error: failure, steps: run.lines,
        orderCount: exploration.report.orderCount, isRepeatable: run.isRepeatable,
        origin: SourceLocation(fileID: fileID, line: line))
    }
  }
  return exploration.report
}

/// What an exploration without a failure did.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public struct ExplorationReport: Sendable, Hashable {
  /// How many orders were tried.
  public internal(set) var orderCount = 0
  /// How many steps they took together.
  public internal(set) var stepCount = 0
  /// Whether there are no other orders within the bounds.
  ///
  /// False for random orders, and where a limit was reached or work came from outside.
  public internal(set) var isComplete = false
}

/// The orders of an exploration, one after the other.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
struct Exploration {
  private let kind: Orders.Kind
  private(set) var report = ExplorationReport()
  /// Orders to try yet; those with fewer deviations come first.
  private var frontier: [Order] = []
  private var position = 0
  private var isCut = false

  init(_ kind: Orders.Kind) {
    self.kind = kind
    switch kind {
    case .all: frontier = [Order()]
    case .one(let order): frontier = [order]
    case .random, .unreadable: break
    }
  }

  mutating func next() -> (any Chooser)? {
    if case .random(let seed, let count) = kind {
      return report.orderCount < count
        ? RandomChooser(seed: seed &+ UInt64(report.orderCount)) : nil
    }
    guard position < frontier.count else { return nil }
    position += 1
    return OrderFollower(frontier[position - 1])
  }

  /// Learns from a run which orders there are besides.
  mutating func note(_ run: ExploredRun) {
    report.orderCount += 1
    report.stepCount += run.stepCount
    guard case .all(let limit, let deviations) = kind else { return }
    let order = run.order
    if !run.isRepeatable { isCut = true }
    if order.deviations.count < deviations ?? .max {
      // Each order is reached once: from the one without its last deviation.
      let first = (order.deviations.last?.position ?? -1) + 1
      for (position, choice) in run.choices.enumerated().dropFirst(first) {
        for other in 1..<choice.count {
          if frontier.count >= limit {
            isCut = true
            break
          }
          frontier.append(
            Order(order.deviations + [Order.Deviation(position: position, choice: other)]))
        }
      }
    }
    report.isComplete = !isCut && position == frontier.count
  }
}
