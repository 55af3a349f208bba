import Dispatch
import Foundation
import Pledge

/// A promise of any value, as one of several that are waited for.
///
/// Stands for what settles, and not for the object that resolves it: an observer that kept the
/// object alive would keep itself waiting forever if nothing else referred to it.
@usableFromInline
protocol Input {
  var isPending: Bool { get }
  var isFulfilled: Bool { get }
  func observeEnd(on queue: DispatchQueue, _ handler: @escaping ((any Error)?) -> Void)
}

/// The one way to be an ``Input``.
@usableFromInline
struct Source<Value>: Input {
  @usableFromInline let storage: Pledge.Promise<UncheckedBox<Value>>

  @inlinable
  init(storage: Pledge.Promise<UncheckedBox<Value>>) { self.storage = storage }

  @inlinable var isPending: Bool { storage.isPending }

  @inlinable
  var isFulfilled: Bool {
    if case .success = storage.currentResult { true } else { false }
  }

  @inlinable
  func observeEnd(on queue: DispatchQueue, _ handler: @escaping ((any Error)?) -> Void) {
    // `nonisolated(unsafe)`: called once, on the queue.
    nonisolated(unsafe) let handler = handler
    storage.observe(on: QueueExecutor.hop(to: queue)) { result in
      switch result {
      case .success: handler(nil)
      case .failure(let error): handler(error)
      }
    }
  }

  /// The value as a handler gets it, where the promise is fulfilled.
  @inlinable
  var value: Value {
    guard case .success(let box) = storage.currentResult else {
      preconditionFailure("The promise is not fulfilled")
    }
    return delivered(box.value)
  }

  /// The value or the error, where the promise is resolved.
  @inlinable
  var resolution: Maybe<Value> {
    switch storage.currentResult {
    case nil: preconditionFailure("The promise is pending")
    case .success(let box): .value(delivered(box.value))
    case .failure(let error): .error(error)
    }
  }
}

/// Inputs of different types side by side.
@usableFromInline
struct AnyInput: Input {
  @usableFromInline let input: any Input

  @inlinable
  init(_ input: any Input) { self.input = input }

  @inlinable var isPending: Bool { input.isPending }
  @inlinable var isFulfilled: Bool { input.isFulfilled }

  @inlinable
  func observeEnd(on queue: DispatchQueue, _ handler: @escaping ((any Error)?) -> Void) {
    input.observeEnd(on: queue, handler)
  }
}

extension Promise {
  @inlinable var source: Source<Value> { Source(storage: storage) }
}

/// How many promises, from the first one on, are known to have come as far as they should.
///
/// Every observer that is called asks anew whether all have; what it found is kept, and only one is
/// notified, so that this takes linear time altogether.
///
/// `@unchecked Sendable`: `count` is guarded by `lock`, one of Foundation's, since the thread
/// sanitizer cannot follow `Synchronization.Mutex` on Linux.
@usableFromInline
final class Progress: @unchecked Sendable {
  @usableFromInline let lock = NSLock()
  @exclusivity(unchecked) @usableFromInline var count = 0

  @inlinable init() {}

  /// Whether all `inputs` satisfy `condition`, which never becomes false again; true once.
  @inlinable
  func isComplete<I: Input>(_ inputs: [I], _ condition: (I) -> Bool) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    if count == inputs.count { return false }
    while count < inputs.count, condition(inputs[count]) { count += 1 }
    return count == inputs.count
  }
}

/// Creates a promise that is fulfilled with `combine()` once all `inputs` are fulfilled, and
/// rejected with the first error.
@inlinable
func gather<I: Input, Combined>(
  on queue: DispatchQueue, fulfilled inputs: [I], _ combine: @escaping () -> Combined
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

/// Creates a promise that is fulfilled once all `inputs` are resolved, one of them at least with a
/// value, and rejected with the last error otherwise.
@inlinable
func gather<I: Input>(on queue: DispatchQueue, resolved inputs: [I]) -> Promise<Void> {
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
