import Dispatch

// Mutable without a lock, as in the original: the program that sets it must do so before it is
// used from several threads.
/// The settings of PromiseKit: where handlers run, what `catch` takes, and where log events go.
///
/// Default arguments read it at each call, so a change affects later calls only. Change it before
/// the first promise is made: it is not guarded against concurrent access.
nonisolated(unsafe) public var conf = PMKConfiguration()

/// The settings of PromiseKit.
public struct PMKConfiguration {
  /// The queues on which handlers run by default.
  ///
  /// `map` is for those that make something of a value, `return` for those that end a chain. Nil
  /// runs them in place.
  public var Q: (map: DispatchQueue?, return: DispatchQueue?) = (map: .main, return: .main)

  /// Which errors `catch` and `recover` take by default.
  public var catchPolicy = CatchPolicy.allErrorsExceptCancellation

  /// Receives what PromiseKit has to tell; prints it by default.
  public var logHandler: (LogEvent) -> Void = { event in
    switch event {
    case .waitOnMainThread:
      print("PromiseKit: warning: `wait()` called on main thread!")
    case .pendingPromiseDeallocated:
      print("PromiseKit: warning: pending promise deallocated")
    case .pendingGuaranteeDeallocated:
      print("PromiseKit: warning: pending guarantee deallocated")
    case .cauterized(let error):
      print("PromiseKit:cauterized-error: \(error)")
    }
  }

  init() {}
}

/// What PromiseKit has to tell.
public enum LogEvent {
  /// A `wait()` blocks the main thread.
  case waitOnMainThread
  /// The resolver of a promise went away before the promise was resolved.
  case pendingPromiseDeallocated
  /// A guarantee went away before it was resolved.
  case pendingGuaranteeDeallocated
  /// An error came to the end of its chain, at a `cauterize`.
  case cauterized(Error)
}

/// Which errors a handler takes.
public enum CatchPolicy: Sendable {
  /// All of them, cancellation included.
  case allErrors
  /// All but those that say that something was cancelled.
  case allErrorsExceptCancellation
}
