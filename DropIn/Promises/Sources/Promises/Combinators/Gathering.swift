import Dispatch
import Foundation
@_spi(DropIns) import Pledge

/// A promise of any type that a combinator waits for.
///
/// It represents the promise of the engine, and not the object that resolves it: an observer that
/// retained that object would keep the promise pending forever if nothing else refers to the
/// object.
@usableFromInline
protocol Input {
  var isPending: Bool { get }
  var isFulfilled: Bool { get }
  func observeEnd(on executor: QueueExecutor, _ handler: @escaping ((any Error)?) -> Void)
}

/// The input for one promise.
@frozen @usableFromInline
struct Source<Value>: Input {
  @usableFromInline let storage: Pledge.Promise<UncheckedBox<Value>>

  @inlinable
  init(storage: Pledge.Promise<UncheckedBox<Value>>) { self.storage = storage }

  @inlinable var isPending: Bool { storage.isPending }

  @inlinable
  var isFulfilled: Bool { if case .success = storage.currentResult { true } else { false } }

  @inlinable
  func observeEnd(on executor: QueueExecutor, _ handler: @escaping ((any Error)?) -> Void) {
    // `nonisolated(unsafe)`: called once, on the queue.
    nonisolated(unsafe) let handler = handler
    storage.observe(on: executor) { result in
      switch result {
      case .success: handler(nil)
      case .failure(let error): handler(error)
      }
    }
  }

  /// The value as a handler receives it; the promise must be fulfilled.
  @inlinable
  var value: Value {
    guard case .success(let box) = storage.currentResult else {
      preconditionFailure("The promise is not fulfilled")
    }
    return delivered(box.value)
  }

  /// The value or the error; the promise must be resolved.
  @inlinable
  var resolution: Maybe<Value> {
    switch storage.currentResult {
    case nil: preconditionFailure("The promise is pending")
    case .success(let box): .value(delivered(box.value))
    case .failure(let error): .error(error)
    }
  }
}

/// A type-erased input.
@frozen @usableFromInline
struct AnyInput: Input {
  @usableFromInline let input: any Input

  @inlinable
  init(_ input: any Input) { self.input = input }

  @inlinable var isPending: Bool { input.isPending }
  @inlinable var isFulfilled: Bool { input.isFulfilled }

  @inlinable
  func observeEnd(on executor: QueueExecutor, _ handler: @escaping ((any Error)?) -> Void) {
    input.observeEnd(on: executor, handler)
  }
}

extension Promise {
  @inlinable var source: Source<Value> { Source(storage: storage) }
}

/// The number of inputs, from the first one on, that are known to satisfy a condition.
///
/// Each observer checks whether all inputs do. The check continues where the last one ended, and
/// succeeds only once, so it takes linear time in total.
///
/// `@unchecked Sendable`: `count` is guarded by `lock`, which is one of Foundation's, because
/// `Synchronization.Mutex` needs macOS 15 and iOS 18.
@_fixed_layout @usableFromInline
final class Progress: @unchecked Sendable {
  @usableFromInline let lock = NSLock()
  @exclusivity(unchecked) @usableFromInline var count = 0

  @inlinable init() {}

  /// Returns true once, when all `inputs` satisfy `condition`, which must never become false again.
  @inlinable
  func isComplete<I: Input>(_ inputs: [I], _ condition: (I) -> Bool) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    if count == inputs.count { return false }
    while count < inputs.count, condition(inputs[count]) { count += 1 }
    return count == inputs.count
  }
}

/// Creates a promise that is fulfilled with `combine()` when all `inputs` are fulfilled, and
/// rejected with the first error.
@inlinable
func gather<I: Input, Combined>(
  on queue: DispatchQueue, fulfilled inputs: [I], _ combine: @escaping () -> Combined
) -> Promise<Combined> {
  Promise<Combined>(on: queue) { fulfill, reject in
    let (progress, executor) = (Progress(), QueueExecutor.hop(to: queue))
    for input in inputs {
      input.observeEnd(on: executor) { error in
        if let error {
          reject(error)
        } else if progress.isComplete(inputs, { $0.isFulfilled }) {
          fulfill(combine())
        }
      }
    }
  }
}

/// Creates a promise that is fulfilled when all `inputs` are resolved and at least one is
/// fulfilled, and rejected with the last error otherwise.
@inlinable
func gather<I: Input>(on queue: DispatchQueue, resolved inputs: [I]) -> Promise<Void> {
  guard !inputs.isEmpty else { return Promise<Void>(()) }
  return Promise<Void>(on: queue) { fulfill, reject in
    let (progress, executor) = (Progress(), QueueExecutor.hop(to: queue))
    for input in inputs {
      input.observeEnd(on: executor) { error in
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
