/// The error of a promise that would otherwise never settle.
public struct BrokenPromiseError: Error, Sendable, CustomStringConvertible {
  /// The reason why a promise can never settle.
  public enum Reason: Sendable, Hashable {
    /// The resolver was deallocated.
    case resolverDropped
    /// An executor dropped a handler without running it.
    case executorDroppedJob
    /// The promise was abandoned; see ``Resolver/abandon()``.
    case abandoned
    /// The limiter was deallocated while it was paused, before it started the operation.
    case limiterDropped
    /// A task awaits the value of a guarantee that was cancelled; see ``Guarantee/value``.
    case guaranteeCancelled
  }

  /// The source location where the promise was created, if known.
  public let origin: PromiseDiagnostics.SourceLocation?
  /// The reason why the promise can never settle.
  public let reason: Reason

  init(origin: SourceLocation?, reason: Reason) {
    self.origin = origin
    self.reason = reason
  }

  /// Creates the error to report when a task awaits the value of a guarantee that was broken with
  /// `rejection`.
  init(breakingGuarantee rejection: Rejection) {
    if let error = rejection.error as? BrokenPromiseError {
      self = error
    } else {
      self.init(origin: rejection.origin, reason: .guaranteeCancelled)
    }
  }

  /// A description of what happened and where the promise was created.
  public var description: String {
    let place = origin.map { "The promise made at \($0)" } ?? "A promise"
    switch reason {
    case .resolverDropped:
      return "\(place) can never settle: its resolver was dropped without being called."
    case .executorDroppedJob:
      return "\(place) can never settle: its executor dropped the handler without running it."
    case .abandoned:
      return "\(place) can never settle: it was abandoned."
    case .limiterDropped:
      return "\(place) can never settle: its limiter was dropped while it was paused."
    case .guaranteeCancelled:
      return """
        A task awaits a guarantee that was cancelled, and stays suspended. Await the guarantee's \
        `promise` where it may be cancelled.
        """
    }
  }
}

/// An error with which operators, combinators, and resolvers reject promises.
public enum PromiseError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A handler returned the promise that is waiting for that handler (Promises/A+ 2.3.1).
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
      "A handler returned the promise that is waiting for it; it would never settle. Return another promise."
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

/// The error of `Promise.any` and `firstToSucceed` when every promise was rejected.
public struct AggregateError: Error, Sendable, CustomStringConvertible {
  /// The errors, in the order of the promises.
  public var errors: [any Error] { list.errors }

  fileprivate let list: ErrorList

  init(errors: [any Error]) { list = ErrorList(errors) }

  /// A list of the errors.
  ///
  /// Deeply nested errors are omitted.
  public var description: String { description(depth: ErrorList.describedDepth) }

  fileprivate func description(depth: Int) -> String {
    (errors.count == 1
      ? "The only promise was rejected: " : "All \(errors.count) promises were rejected: ")
      + list.description(depth: depth)
  }
}

/// A list of errors that is released iteratively, however deeply errors are nested.
///
/// `@unchecked Sendable`: immutable while there's more than one reference.
private final class ErrorList: @unchecked Sendable {
  /// The number of levels of nested errors in a description, which must not overflow the stack.
  static let describedDepth = 8

  private(set) var errors: [any Error]

  init(_ errors: [any Error]) { self.errors = errors }

  func description(depth: Int) -> String {
    guard depth > 0 else { return "…" }
    return errors.map { error in
      (error as? AggregateError)?.description(depth: depth - 1) ?? "\(error)"
    }.joined(separator: "; ")
  }

  deinit {
    var rest = exchange(&errors, with: [])
    while var error = rest.popLast() {
      guard var list = (error as? AggregateError)?.list else { continue }
      error = CancellationError()
      if isKnownUniquelyReferenced(&list) {
        rest.append(contentsOf: exchange(&list.errors, with: []))
      }
      _ = error
    }
  }
}
