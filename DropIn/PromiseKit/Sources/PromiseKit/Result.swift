/// The outcome of a thenable.
public enum Result<T> {
  /// There is a value.
  case fulfilled(T)
  /// There is an error instead.
  case rejected(Error)
}

extension PromiseKit.Result: Sendable where T: Sendable {}

extension PromiseKit.Result {
  /// Whether there is a value.
  @inlinable
  public var isFulfilled: Bool {
    switch self {
    case .fulfilled: true
    case .rejected: false
    }
  }

  /// The outcome of the Pledge promise behind a thenable.
  @inlinable
  init(_ result: Swift.Result<Boxed<T>, any Error>) {
    switch result {
    case .success(let box): self = .fulfilled(box.value)
    case .failure(let error): self = .rejected(exposed(error))
    }
  }
}
