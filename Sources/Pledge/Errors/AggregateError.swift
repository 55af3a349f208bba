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

  /// Returns the errors of the operations that failed: `error`, or all inside an ``AggregateError``.
  ///
  /// Not recursive, because errors can be deeply nested.
  package static func causes(of error: any Error) -> [any Error] {
    var causes: [any Error] = []
    var rest = [error]
    while let error = rest.popLast() {
      if let error = error as? AggregateError { rest += error.errors } else { causes.append(error) }
    }
    return causes
  }

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
