/// A program that uses promises, as a value that can be generated, run, printed, and shrunk.
///
/// A step that creates a promise identifies it by its id, by which other steps refer to it. A step
/// that refers to a promise that doesn't exist (not created yet, or dropped) has no effect, so a
/// program stays valid when steps are removed. A promise depends only on promises with smaller ids,
/// so promises can't wait for each other in a cycle.
package struct Program: Sendable, Equatable {
  /// Which steps the program may contain, and therefore what can be compared.
  package enum Kind: Sendable, Equatable, CaseIterable {
    /// One thread, with executors that are run manually: every event has one correct order.
    case sequential
    /// Several threads that concurrently settle, cancel, adopt, and drop the same promises.
    case chaotic
  }

  package var kind: Kind
  package var steps: [Step]

  package init(kind: Kind, steps: [Step]) {
    self.kind = kind
    self.steps = steps
  }
}

package struct Step: Sendable, Equatable {
  /// Identifies the step, the promise that it creates, and the handler that it attaches.
  package let id: Int
  package var operation: Operation

  package init(_ id: Int, _ operation: Operation) {
    self.id = id
    self.operation = operation
  }
}

/// The action of a step; integers are the ids of promises.
package indirect enum Operation: Sendable, Equatable {
  // Creating promises.
  case pending
  case value
  case rejected
  case map(Int, Place, Body)
  case then(Int, Place, Body)
  case recover(Int, Place, Body)
  case `catch`(Int, Place, Body)
  case finally(Int, Place, Body)
  case reduce(Int, Place, count: Int, Body)
  /// A handler returns the promise, another handler returns that handler's promise, and so on.
  case adopt(Int, times: Int)
  case gather(Gathering, [Int])
  case timeout(Int, ticks: Int)
  case limited(Int, Body)
  case coalesced(key: Int, Body)
  case uncancellable(Int)

  // Acting on promises.
  case fulfill(Int)
  case reject(Int)
  case resolve(Int, with: Int)
  case onCancel(Int, [Step])
  case cancel(Int)
  case dropPromise(Int)
  case dropResolver(Int)
  case abandon(Int)

  // Running jobs and timers.
  case runNext(Place)
  case runAll(Place)
  case advance(Int)
  case parallel([[Step]])
}

/// Where a handler runs.
package enum Place: String, Sendable, CaseIterable {
  /// In place.
  case immediate
  /// Two serial executors: run manually in sequential programs, queues in others.
  case first, second
  /// The global concurrent executor; in sequential programs, the same as `first`.
  case anywhere
}

package enum Gathering: String, Sendable, CaseIterable {
  case all, allSettled, race, any
}

/// The actions and the result of a handler.
package struct Body: Sendable, Equatable {
  package enum Result: Sendable, Equatable {
    /// Returns a number computed from the input and the handler's id.
    case value
    case throwing
    /// Returns the promise with this id, if the operator accepts one.
    case promise(Int)
  }

  package var steps: [Step]
  package var result: Result

  package init(_ result: Result = .value, _ steps: [Step] = []) {
    self.steps = steps
    self.result = result
  }
}

// MARK: - Traversing a program

extension Operation {
  /// The body of the handler that the step attaches.
  package var body: Body? {
    get {
      switch self {
      case .map(_, _, let body), .then(_, _, let body), .recover(_, _, let body),
        .catch(_, _, let body), .finally(_, _, let body), .reduce(_, _, _, let body),
        .limited(_, let body), .coalesced(_, let body):
        body
      default: nil
      }
    }
    set {
      guard let newValue else { return }
      switch self {
      case .map(let source, let place, _): self = .map(source, place, newValue)
      case .then(let source, let place, _): self = .then(source, place, newValue)
      case .recover(let source, let place, _): self = .recover(source, place, newValue)
      case .catch(let source, let place, _): self = .catch(source, place, newValue)
      case .finally(let source, let place, _): self = .finally(source, place, newValue)
      case .reduce(let source, let place, let count, _):
        self = .reduce(source, place, count: count, newValue)
      case .limited(let limiter, _): self = .limited(limiter, newValue)
      case .coalesced(let key, _): self = .coalesced(key: key, newValue)
      default: break
      }
    }
  }

  package var place: Place? {
    switch self {
    case .map(_, let place, _), .then(_, let place, _), .recover(_, let place, _),
      .catch(_, let place, _), .finally(_, let place, _), .reduce(_, let place, _, _):
      place
    default: nil
    }
  }

  /// The promise to which the step attaches its handler.
  package var source: Int? {
    switch self {
    case .map(let source, _, _), .then(let source, _, _), .recover(let source, _, _),
      .catch(let source, _, _), .finally(let source, _, _), .reduce(let source, _, _, _),
      .adopt(let source, _), .timeout(let source, _), .uncancellable(let source):
      source
    default: nil
    }
  }

  /// The promise that the step settles with the result of another one.
  package var follower: Int? {
    if case .resolve(let target, _) = self { target } else { nil }
  }

  package var inner: [[Step]] {
    switch self {
    case .parallel(let threads): threads
    case .onCancel(_, let steps): [steps]
    default: body.map { [$0.steps] } ?? []
    }
  }
}

extension Program {
  /// All steps, including nested ones, in source order.
  package var allSteps: [Step] {
    func flatten(_ steps: [Step]) -> [Step] {
      steps.flatMap { [$0] + $0.operation.inner.flatMap(flatten) }
    }
    return flatten(steps)
  }

  /// Whether a promise can be abandoned, and therefore stay pending.
  package var abandons: Bool {
    allSteps.contains { if case .abandon = $0.operation { true } else { false } }
  }
}
