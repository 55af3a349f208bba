import Observation
import Pledge

@available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
extension Guarantee {
  /// Creates a guarantee for the next value of an expression over `@Observable` objects.
  ///
  /// ```swift
  /// Guarantee.next { model.title }.done { title in … }
  /// Guarantee.next(of: { model.state }, where: { $0 == .ready }).done { … }
  /// ```
  ///
  /// The guarantee is fulfilled after the next change of a property that `expression` reads, with
  /// the value that `expression` has when the actor evaluates it: several changes in one turn count
  /// as one. The current value doesn't count. The guarantee retains the objects until then.
  ///
  /// **Execution.** `expression` and `condition` run in the actor that calls this method: once
  /// inside this call, and then soon after each change. Code that isn't isolated to an actor can't
  /// call this method, because it could read the object while another thread changes it.
  ///
  /// **Cancellation.** Cancelling every promise created from the guarantee ends the observation
  /// immediately, and releases the closures in the actor.
  ///
  /// - Parameters:
  ///   - expression: Reads the properties.
  ///   - condition: Whether to accept the value; otherwise the guarantee waits for another change.
  ///   - isolation: The actor that calls this method.
  public static func next(
    isolation: isolated any Actor = #isolation, of expression: @escaping () -> Value,
    where condition: @escaping (Value) -> Bool = { _ in true }
  ) -> Guarantee<Value> {
    Guarantee { resolver in
      let observer = ExpressionObserver(isolation, expression, condition, resolver)
      observer.evaluate(fulfilling: false)
      resolver.onCancel { observer.stop() }
    }
  }
}

/// Evaluates an expression now, and after each change of a property that it reads.
///
/// `@unchecked Sendable`: `work` is guarded by the lock, and its closures run only on `actor`, which
/// also releases them.
@available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
private final class ExpressionObserver<Value: Sendable>: @unchecked Sendable {
  private struct Work {
    let expression: ClosureKeeper<() -> Value>
    let condition: ClosureKeeper<(Value) -> Bool>
    let resolver: GuaranteeResolver<Value>
  }

  private let actor: any Actor
  private let end = EndOfObservation()
  private let lock = Mutex<Void>(())
  private var work: Work?

  init(
    _ actor: isolated any Actor, _ expression: @escaping () -> Value,
    _ condition: @escaping (Value) -> Bool, _ resolver: GuaranteeResolver<Value>
  ) {
    self.actor = actor
    work = Work(
      expression: ClosureKeeper(expression, on: actor),
      condition: ClosureKeeper(condition, on: actor), resolver: resolver)
  }

  private var isStopped: Bool { lock.withLock { _ in work == nil } }

  /// Evaluates the expression; call it only on `actor`.
  func evaluate(fulfilling: Bool) {
    guard let work = lock.withLock({ _ in self.work }) else { return }
    let expression = {
      self.end.observe()
      return work.expression.closure()
    }
    let value = withObservationTracking(expression) {
      guard !self.isStopped else { return }
      // The property changes on the actor right after this call; the task runs there after that.
      Task { await self.resume(on: self.actor) }
    }
    // A cancellation while the expression ran didn't remove what was registered after it.
    if isStopped { end.happen() }
    guard fulfilling, work.condition.closure(value) else { return }
    stop()
    work.resolver.fulfill(value)
  }

  private func resume(on actor: isolated any Actor) { evaluate(fulfilling: true) }

  func stop() {
    // The closures are released outside the lock, because that can run a deinitializer.
    let old = lock.withLock { _ in
      defer { work = nil }
      return work
    }
    end.happen()
    withExtendedLifetime(old) {}
  }
}

/// A property that every tracked expression reads, and that changes when the observation ends.
///
/// Observation has no call that ends an observation, but the first change of any property that an
/// expression has read removes its registration from all of them.
@available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
private final class EndOfObservation: Observable, Sendable {
  private let registrar = ObservationRegistrar()
  private var hasHappened: Void { () }

  func observe() { registrar.access(self, keyPath: \.hasHappened) }
  func happen() { registrar.willSet(self, keyPath: \.hasHappened) }
}
