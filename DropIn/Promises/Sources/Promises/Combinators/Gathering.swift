import Dispatch
import Pledge
import Synchronization

/// A promise of any value, as one of several that are waited for.
///
/// Stands for what settles, and not for the object that resolves it: an observer that kept the
/// object alive would keep itself waiting for ever if nobody else had it any more.
protocol Input {
  var isPending: Bool { get }
  var isFulfilled: Bool { get }
  func observeEnd(on queue: DispatchQueue, _ handler: @escaping ((any Error)?) -> Void)
}

/// The one way to be an ``Input``.
struct Source<Value>: Input {
  let storage: Pledge.Promise<UncheckedBox<Value>>

  var isPending: Bool { storage.isPending }

  var isFulfilled: Bool {
    if case .success = storage.currentResult { true } else { false }
  }

  func observeEnd(on queue: DispatchQueue, _ handler: @escaping ((any Error)?) -> Void) {
    let handler = UncheckedBox(handler)
    storage.observe(on: Hop(queue: queue)) { result in
      switch result {
      case .success: handler.value(nil)
      case .failure(let error): handler.value(error)
      }
    }
  }

  /// The value as a handler gets it, where the promise is fulfilled.
  var value: Value {
    guard case .success(let box) = storage.currentResult else {
      preconditionFailure("The promise is not fulfilled")
    }
    return delivered(box.value)
  }

  /// The value or the error, where the promise is resolved.
  var resolution: Maybe<Value> {
    switch storage.currentResult {
    case nil: preconditionFailure("The promise is pending")
    case .success(let box): .value(delivered(box.value))
    case .failure(let error): .error(error)
    }
  }
}

extension Promise {
  var source: Source<Value> { Source(storage: storage) }
}

/// How many promises, from the first one on, are known to have come as far as they should.
///
/// Every observer that is called asks anew whether all have; what it found is kept, and only one is
/// told so, so that this takes linear time altogether.
private final class Progress: Sendable {
  private let count = Mutex(0)

  /// Whether all `inputs` satisfy `condition`, which never becomes false again; true once.
  func isComplete(_ inputs: [any Input], _ condition: (any Input) -> Bool) -> Bool {
    count.withLock { count in
      if count == inputs.count { return false }
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
