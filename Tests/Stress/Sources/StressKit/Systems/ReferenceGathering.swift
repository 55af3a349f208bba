/// The state of a combinator.
final class ReferenceGathering {
  private let world: ReferenceWorld
  let result = ReferencePromise(.resolver(CancelHooks()))
  private var observers: [Observer] = []
  /// Whether it observes all inputs; it removes no observer before.
  private var hasStarted = false
  /// How the combinator ended: true if it withdrew from its inputs, false if it left them pending.
  private var end: Bool?

  init(_ world: ReferenceWorld) { self.world = world }

  func start(
    _ inputs: [ReferencePromise], _ receive: @escaping (Int, Settlement) -> Void
  ) -> ReferencePromise {
    for (index, input) in inputs.enumerated() {
      let observer = Observer(input)
      observer.run = { receive(index, $0) }
      world.attach(observer, to: input)
      observers.append(observer)
    }
    hasStarted = true
    removeAll()
    world.onCancel(result) { self.finish(withdrawing: true) }
    return result
  }

  /// Removes the observers of all inputs; returns false if that has already happened.
  @discardableResult
  func finish(withdrawing: Bool) -> Bool {
    guard end == nil else { return false }
    end = withdrawing
    removeAll()
    return true
  }

  /// Removes the observers, the newest first, if the combinator has ended.
  private func removeAll() {
    guard hasStarted, let end else { return }
    let all = observers
    observers = []
    for observer in all.reversed() {
      if end { world.withdraw(observer) } else { world.leave(observer) }
    }
  }
}

extension ReferenceWorld {
  func all(_ inputs: [ReferencePromise]) -> ReferencePromise {
    let gathering = ReferenceGathering(self)
    var values: [Int: Int] = [:]
    var abandonedCount = 0
    return gathering.start(inputs) { [self] index, outcome in
      switch outcome {
      case .rejection(let rejection):
        rejection.isHandled = true
        if gathering.finish(withdrawing: false) {
          settle(gathering.result, .rejection(rejection.passedOn()))
        }
      case .value(let value): values[index] = value
      case .abandoned: abandonedCount += 1
      }
      guard values.count + abandonedCount == inputs.count else { return }
      let value = mixed(inputs.indices.map { values[$0] ?? 0 })
      settle(gathering.result, abandonedCount > 0 ? .abandoned : .value(value))
      gathering.finish(withdrawing: false)
    }
  }

  func allSettled(_ inputs: [ReferencePromise]) -> ReferencePromise {
    all(
      inputs.map { input in
        derive(input, wantsValue: true, wantsRejection: true, isOurs: true) {
          [self] promise, outcome in
          guard let rejection = outcome.rejection else { return finish(promise, outcome) }
          rejection.isHandled = true
          finish(promise, .value(rejection.failure.number))
        }
      })
  }

  func race(_ inputs: [ReferencePromise]) -> ReferencePromise {
    let gathering = ReferenceGathering(self)
    var abandonedCount = 0
    return gathering.start(inputs) { [self] _, outcome in
      if case .abandoned = outcome {
        abandonedCount += 1
        guard abandonedCount == inputs.count, gathering.finish(withdrawing: false) else { return }
        settle(gathering.result, .abandoned)
        return
      }
      outcome.rejection?.isHandled = true
      guard gathering.finish(withdrawing: true) else { return }
      settle(gathering.result, outcome.rejection.map { .rejection($0.passedOn()) } ?? outcome)
    }
  }

  func any(_ inputs: [ReferencePromise]) -> ReferencePromise {
    let gathering = ReferenceGathering(self)
    var failures: [Int: Failure] = [:]
    var abandonedCount = 0
    return gathering.start(inputs) { [self] index, outcome in
      switch outcome {
      case .value:
        if gathering.finish(withdrawing: true) { settle(gathering.result, outcome) }
        return
      case .rejection(let rejection):
        rejection.isHandled = true
        failures[index] = rejection.failure
      case .abandoned: abandonedCount += 1
      }
      // After cancellation it has already finished, and the failures of its inputs don't count.
      let isLast = failures.count + abandonedCount == inputs.count
      guard isLast, gathering.finish(withdrawing: false) else { return }
      if abandonedCount > 0 {
        settle(gathering.result, .abandoned)
      } else {
        let all = inputs.indices.compactMap { failures[$0] }
        let areCancelled = all.allSatisfy { $0 == .cancelled }
        reject(gathering.result, areCancelled ? .cancelled : .aggregate(all))
      }
    }
  }
}
