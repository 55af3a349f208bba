import Foundation

// `@unchecked Sendable`: the values in two of the cases are only printed.
/// The errors of PromiseKit.
public enum PMKError: Error, @unchecked Sendable {
  /// A completion handler was called with neither a value nor an error.
  case invalidCallingConvention
  /// A handler returned the promise that waits for it.
  case returnedSelf
  /// A function was called with invalid arguments.
  case badInput
  /// Something was cancelled.
  case cancelled
  /// A closure returned nil; with the value that it received, and the type that it should have
  /// returned.
  @available(*, deprecated, message: "See: `compactMap`")
  case flatMap(Any, Any.Type)
  /// A closure returned nil; with the value that it received, and the type that it should have
  /// returned.
  case compactMap(Any, Any.Type)
  /// The first or last element of an empty sequence was requested.
  case emptySequence
  /// All thenables of a `race(fulfilled:)` were rejected.
  case noWinner
}

extension PMKError: CustomDebugStringConvertible {
  /// A description of the error.
  public var debugDescription: String {
    switch self {
    case .flatMap(let value, let type): "Could not `flatMap<\(type)>`: \(value)"
    case .compactMap(let value, let type): "Could not `compactMap<\(type)>`: \(value)"
    case .invalidCallingConvention:
      "A closure was called with an invalid calling convention, probably (nil, nil)"
    case .returnedSelf: "A promise handler returned itself"
    case .badInput: "Bad input was provided to a PromiseKit function"
    case .cancelled: "The asynchronous sequence was cancelled"
    case .emptySequence: "The first or last element was requested for an empty sequence"
    case .noWinner: "All thenables passed to race(fulfilled:) were rejected"
    }
  }
}

extension PMKError: LocalizedError {
  /// A description of the error.
  public var errorDescription: String? { debugDescription }
}

/// An error that can represent a cancellation.
public protocol CancellableError: Error {
  /// Whether this error represents a cancellation.
  var isCancelled: Bool { get }
}

extension Error {
  /// Whether this error represents a cancellation.
  ///
  /// By default, `catch` and `recover` don't handle such errors.
  public var isCancelled: Bool {
    do {
      throw self
    } catch PMKError.cancelled {
      return true
    } catch let error as any CancellableError {
      return error.isCancelled
    } catch URLError.cancelled, CocoaError.userCancelled, is CancellationError {
      return true
    } catch {
      #if os(macOS) || os(iOS) || os(tvOS) || os(watchOS)
        // The user cancelled the payment.
        let error = error as NSError
        return error.domain == "SKErrorDomain" && error.code == 2
      #else
        return false
      #endif
    }
  }
}
