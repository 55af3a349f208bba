/// An actor's scheduler.
///
/// There is one for each actor with waiting handlers.
final class ActorScheduler: SerialScheduler, @unchecked Sendable {
  // Immutable.
  private let actor: any Actor

  private init(_ actor: any Actor) {
    self.actor = actor
    let executor = Self.executor(of: actor)
    let id = ObjectIdentifier(actor)
    super.init(executor == id ? SerialQueue(canNest: false) : .of(executor), owner: id)
  }

  override var name: String { "\(type(of: actor))" }

  override var currentUrgency: Urgency { Urgency(.current) }

  override func requestTurn(_ urgency: Urgency) {
    Self.hop(to: actor, urgency.priority) { [queue] in queue.runTurn(urgency) }
  }

  static func hop(
    to actor: any Actor, _ priority: TaskPriority, _ work: @escaping @Sendable () -> Void
  ) {
    // Detached, so that handlers don't see the task-local values of the code that happened to
    // request the turn.
    Task.detached(priority: priority) { await Self.run(on: actor, work) }
  }

  private static func run(on actor: isolated any Actor, _ work: @Sendable () -> Void) {
    work()
  }

  /// Returns the scheduler of `actor`, which is the same one while it is in use.
  static func of(_ actor: any Actor) -> SerialScheduler {
    registry.scheduler(for: ObjectIdentifier(actor)) { ActorScheduler(actor) }
  }

  /// Returns the identity of an actor's executor: the actor itself, or its custom executor.
  private static func executor(of actor: any Actor) -> ObjectIdentifier {
    // An executor reference consists of the address of an object and a witness table. The actor
    // retains its executor, or is the executor.
    unsafeBitCast(actor.unownedExecutor, to: (ObjectIdentifier, UInt).self).0
  }

  /// Whether the actor runs on the main actor's executor.
  static func isOnMainExecutor(_ actor: any Actor) -> Bool {
    actor === MainActor.shared || executor(of: actor) == executor(of: MainActor.shared)
  }
}
