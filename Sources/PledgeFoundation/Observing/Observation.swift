import Observation
import Pledge

extension Guarantee {
  /// Makes a guarantee of the next value of an expression over `@Observable` objects.
  ///
  /// ```swift
  /// Guarantee.next { model.title }.done { title in … }
  /// Guarantee.next(of: { model.state }, where: { $0 == .ready }).done { … }
  /// ```
  ///
  /// The guarantee is fulfilled after the next change of a property that `expression` reads, with
  /// the value that `expression` has when the actor gets to it: several changes in one go count as
  /// one. The value it has now does not count. The objects are kept until then.
  ///
  /// **Execution.** `expression` and `condition` run in the actor that calls this method: once inside
  /// this call, and then soon after each change. Code that belongs to no actor cannot call it, for it
  /// could read the object while another thread changes it.
  ///
  /// **Cancellation.** Cancelling all that came of the guarantee lets go of `expression` at once.
  ///
  /// - Parameters:
  ///   - expression: Reads the properties.
  ///   - condition: Whether the value is the one that is wanted; otherwise the guarantee waits for
  ///     another change.
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

/// Evaluates an expression now and after each change of what it reads.
///
/// `@unchecked Sendable`: `work` is guarded by the lock, and its closures run on `actor` alone.
private final class ExpressionObserver<Value: Sendable>: @unchecked Sendable {
  private struct Work {
    let expression: () -> Value
    let condition: (Value) -> Bool
    let resolver: GuaranteeResolver<Value>
  }

  private let actor: any Actor
  private let lock = Mutex<Void>(())
  private var work: Work?

  init(
    _ actor: any Actor, _ expression: @escaping () -> Value,
    _ condition: @escaping (Value) -> Bool, _ resolver: GuaranteeResolver<Value>
  ) {
    self.actor = actor
    work = Work(expression: expression, condition: condition, resolver: resolver)
  }

  /// Only to be called on `actor`.
  func evaluate(fulfilling: Bool) {
    guard let work = lock.withLock({ _ in self.work }) else { return }
    let value = withObservationTracking(work.expression) {
      // The change is about to happen, on the actor: what is enqueued there comes after it.
      Task { await self.resume(on: self.actor) }
    }
    guard fulfilling, work.condition(value) else { return }
    stop()
    work.resolver.fulfill(value)
  }

  private func resume(on actor: isolated any Actor) { evaluate(fulfilling: true) }

  func stop() {
    // What is let go of here may run a deinitializer, so not under the lock.
    let old = lock.withLock { _ in
      defer { work = nil }
      return work
    }
    withExtendedLifetime(old) {}
  }
}
