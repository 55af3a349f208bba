/// The result of a thenable.
public enum Result<T> {
  /// The thenable is fulfilled with a value.
  case fulfilled(T)
  /// The thenable is rejected with an error.
  case rejected(Error)
}

// `@unchecked Sendable`: as for `Promise`.
extension PromiseKit.Result: @unchecked Sendable {}

extension PromiseKit.Result {
  /// Whether the thenable is fulfilled.
  @inlinable
  public var isFulfilled: Bool { if case .fulfilled = self { true } else { false } }

  /// Creates the result from that of the Pledge promise in a thenable.
  @inlinable
  init(_ result: Swift.Result<Boxed<T>, any Error>) {
    switch result {
    case .success(let box): self = .fulfilled(box.value)
    case .failure(let error): self = .rejected(exposed(error))
    }
  }
}
