import Foundation

/// An error of the library.
public enum PromiseError {
  /// The promise was not resolved in time.
  case timedOut
  /// The predicate of `validate` did not accept the value.
  case validationFailure
}

extension PromiseError: CustomNSError {
  /// The domain of both errors.
  public static var errorDomain: String { "com.google.FBLPromises.Error" }

  /// 1 for ``timedOut``, 2 for ``validationFailure``.
  public var errorCode: Int {
    switch self {
    case .timedOut: 1
    case .validationFailure: 2
    }
  }

  /// An empty dictionary.
  public var errorUserInfo: [String: Any] { [:] }
}

extension PromiseError {
  /// Creates the error with the domain and code of `error`; nil if there is none.
  public init?(_ error: Error) {
    if let error = error as? PromiseError {
      self = error
      return
    }
    let error = error as NSError
    guard error.domain == PromiseError.errorDomain else { return nil }
    switch error.code {
    case PromiseError.timedOut.errorCode: self = .timedOut
    case PromiseError.validationFailure.errorCode: self = .validationFailure
    default: return nil
    }
  }
}

extension Error {
  /// The error as a ``PromiseError`` if it has the domain and code of one; otherwise, the error
  /// itself.
  @usableFromInline
  var asPromiseError: any Error { PromiseError(self) ?? self }
}
