import Dispatch

// Mutable without a lock, as in the original: set it before it is used on several threads.
/// The settings of PromiseKit: the default queues, the catch policy, and the log handler.
///
/// Default arguments read it at each call, so a change affects later calls only. Change it before
/// you create the first promise: it isn't guarded against concurrent access.
nonisolated(unsafe) public var conf = PMKConfiguration()

/// The settings of PromiseKit.
public struct PMKConfiguration {
  /// The queues on which handlers run by default.
  ///
  /// `map` is the queue for handlers that transform a value, and `return` the one for handlers that
  /// end a chain. Nil runs them in place.
  public var Q: (map: DispatchQueue?, return: DispatchQueue?) = (map: .main, return: .main)

  /// The errors that `catch` and `recover` handle by default.
  public var catchPolicy = CatchPolicy.allErrorsExceptCancellation

  /// The closure that receives log events; by default, it prints them.
  public var logHandler: (LogEvent) -> Void = { event in
    switch event {
    case .waitOnMainThread: print("PromiseKit: warning: `wait()` called on main thread!")
    case .pendingPromiseDeallocated: print("PromiseKit: warning: pending promise deallocated")
    case .pendingGuaranteeDeallocated: print("PromiseKit: warning: pending guarantee deallocated")
    case .cauterized(let error): print("PromiseKit:cauterized-error: \(error)")
    }
  }

  init() {}
}

/// An event that PromiseKit logs.
public enum LogEvent {
  /// A `wait()` blocks the main thread.
  case waitOnMainThread
  /// The resolver of a promise was deallocated before the promise was resolved.
  case pendingPromiseDeallocated
  /// A guarantee was deallocated before it was resolved.
  case pendingGuaranteeDeallocated
  /// An error reached the end of its chain, at a `cauterize`.
  case cauterized(Error)
}

/// The errors that a handler receives.
public enum CatchPolicy: Sendable {
  /// All errors, including cancellation.
  case allErrors
  /// All errors except those that represent a cancellation.
  case allErrorsExceptCancellation
}
