import Dispatch
import Synchronization

/// A promise of any value, as one of several that are waited for.
protocol Input: AnyObject {
  var isPending: Bool { get }
  var isFulfilled: Bool { get }
  func observeEnd(on queue: DispatchQueue, _ handler: @escaping ((any Error)?) -> Void)
}

extension Promise: Input {
  func observeEnd(on queue: DispatchQueue, _ handler: @escaping ((any Error)?) -> Void) {
    observe(on: queue) { outcome in
      switch outcome {
      case .success: handler(nil)
      case .failure(let error): handler(error)
      }
    }
  }

  /// The value as a handler gets it. The promise must be fulfilled.
  var fulfilledValue: Value {
    guard case .success(let value) = outcome else {
      preconditionFailure("The promise is not fulfilled")
    }
    return delivered(value)
  }

  /// The value or the error. The promise must be resolved.
  var resolution: Maybe<Value> {
    guard let outcome else { preconditionFailure("The promise is pending") }
    return Maybe(outcome.map { delivered($0) })
  }
}

/// How many promises, from the first one on, are known to have come as far as they should.
///
/// Every observer that is called asks anew whether all have; what it found is kept, so that this
/// takes linear time altogether.
private final class Progress: Sendable {
  private let count = Mutex(0)

  /// Whether all `inputs` satisfy `condition`, which never becomes false again.
  func isComplete(_ inputs: [any Input], _ condition: (any Input) -> Bool) -> Bool {
    count.withLock { count in
      while count < inputs.count, condition(inputs[count]) { count += 1 }
      return count == inputs.count
    }
  }
}

/// Makes a promise that is fulfilled with `combine()` once all `inputs` are fulfilled, and rejected
/// with the first error.
func gather<Combined>(
  on queue: DispatchQueue, fulfilled inputs: [any Input], _ combine: @escaping () -> Combined
) -> Promise<Combined> {
  Promise<Combined>(on: queue) { fulfill, reject in
    let progress = Progress()
    for input in inputs {
      input.observeEnd(on: queue) { error in
        if let error {
          reject(error)
        } else if progress.isComplete(inputs, { $0.isFulfilled }) {
          fulfill(combine())
        }
      }
    }
  }
}

/// Makes a promise that is fulfilled once all `inputs` are resolved, one of them at least with a
/// value, and rejected with the last error otherwise.
func gather(on queue: DispatchQueue, resolved inputs: [any Input]) -> Promise<Void> {
  guard !inputs.isEmpty else { return Promise<Void>(()) }
  return Promise<Void>(on: queue) { fulfill, reject in
    let progress = Progress()
    for input in inputs {
      input.observeEnd(on: queue) { error in
        guard progress.isComplete(inputs, { !$0.isPending }) else { return }
        if let error, !inputs.contains(where: { $0.isFulfilled }) {
          reject(error)
        } else {
          fulfill(())
        }
      }
    }
  }
}
