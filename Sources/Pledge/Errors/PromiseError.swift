/// An error with which operators, combinators, and resolvers reject promises.
public enum PromiseError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A handler returned the promise that is waiting for that handler (Promises/A+ 2.3.1), or the work
  /// of a ``RequestCoalescer`` requested its own key.
  ///
  /// A promise that an operator made from the waiting promise isn't detected: both stay pending until
  /// one of them is cancelled.
  case returnedItself
  /// A combinator that selects one promise received none.
  case emptyInput
  /// A count, a limit, or a duration is invalid; the text explains which one and why.
  case invalidArgument(String)
  /// A callback delivered neither a value nor an error.
  case noValueAndNoError
  /// `validate` did not accept the value.
  case validationFailed
  /// A sequence was empty, or had no matching element.
  case noElement
  /// A `compactMap` closure returned nil.
  case noValue
  /// Work was bound to a scope that is closed; see ``PromiseScope/close()``.
  case scopeClosed

  /// A description of the error.
  public var description: String {
    switch self {
    case .returnedItself:
      "A promise waits for itself, so it would never settle: a handler returned the promise that is waiting for it, or the work for a key requested that key. Wait for another promise."
    case .emptyInput:
      "No promise was given to choose from; pass at least one."
    case .invalidArgument(let text):
      text
    case .noValueAndNoError:
      "A callback delivered neither a value nor an error."
    case .validationFailed:
      "The value was not accepted by `validate`."
    case .noElement:
      "The sequence has no such element."
    case .noValue:
      "The closure of `compactMap` returned nil."
    case .scopeClosed:
      "The scope is closed: it starts no further work."
    }
  }
}
