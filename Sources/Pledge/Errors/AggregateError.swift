/// The error of `Promise.any` and `Promise.hedged` when every promise was rejected.
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

/// The error of a retried operation whose attempts all failed.
public struct RetryError: Error, Sendable, CustomStringConvertible {
  /// The error of each attempt, in order.
  ///
  /// If the policy's deadline ended the last attempt, or the delay before the next one, the last
  /// error is the ``TimeoutError`` of the deadline.
  public var errors: [any Error] { list.errors }

  fileprivate let list: ErrorList

  init(errors: [any Error]) { list = ErrorList(errors) }

  /// The error of the last attempt.
  public var last: (any Error)? { errors.last }

  /// A list of the errors.
  ///
  /// Deeply nested errors are omitted.
  public var description: String { description(depth: ErrorList.describedDepth) }

  fileprivate func description(depth: Int) -> String {
    "\(errors.count == 1 ? "The only attempt" : "All \(errors.count) attempts") failed: "
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
      switch error {
      case let error as AggregateError: error.description(depth: depth - 1)
      case let error as RetryError: error.description(depth: depth - 1)
      default: "\(error)"
      }
    }.joined(separator: "; ")
  }

  /// Returns the list of `error`, if it has one.
  private static func list(of error: any Error) -> ErrorList? {
    (error as? AggregateError)?.list ?? (error as? RetryError)?.list
  }

  deinit {
    var rest = exchange(&errors, with: [])
    while var error = rest.popLast() {
      guard var list = Self.list(of: error) else { continue }
      error = CancellationError()
      if isKnownUniquelyReferenced(&list) {
        rest.append(contentsOf: exchange(&list.errors, with: []))
      }
      _ = error
    }
  }
}
