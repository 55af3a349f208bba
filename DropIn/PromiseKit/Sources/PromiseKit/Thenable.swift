import Dispatch
@_spi(DropIns) import Pledge

/// A type whose eventual result can be observed: a ``Promise``, a ``Guarantee``, or a class of your
/// own.
public protocol Thenable: AnyObject {
  /// The type of the value.
  associatedtype T

  /// Calls `to` with the result: inside this call if it is already known, and otherwise when it
  /// becomes known.
  func pipe(to: @escaping (Result<T>) -> Void)

  /// The current result; nil while the thenable is pending.
  var result: Result<T>? { get }
}

extension Thenable {
  /// Returns a promise that settles like the thenable that `body` returns.
  ///
  /// If this one is rejected, or `body` throws, the result is rejected with that error. If
  /// `body` returns the promise that this call returned, that promise is rejected with
  /// ``PMKError/returnedSelf``.
  @inlinable
  public func then<U: Thenable>(
    on: DispatchQueue? = conf.Q.map, flags: DispatchWorkItemFlags? = nil,
    _ body: @escaping (T) throws -> U
  ) -> Promise<U.T> {
    nonisolated(unsafe) let body = body
    return Promise(
      core: attach().then(on: place(on, flags)) { box -> Core<U.T> in
        try unreported { try body(box.value).attach() }
      })
  }

  /// Returns a promise for the result of applying `transform` to the value.
  ///
  /// If this one is rejected, or `transform` throws, the result is rejected with that error.
  ///
  /// **Execution.** The closure runs on the queue `on`, or in place if that is nil.
  @inlinable
  public func map<U>(
    on: DispatchQueue? = conf.Q.map, flags: DispatchWorkItemFlags? = nil,
    _ transform: @escaping (T) throws -> U
  ) -> Promise<U> {
    nonisolated(unsafe) let transform = transform
    return Promise(
      core: attach().map(on: place(on, flags)) { box in
        try unreported { Boxed(try transform(box.value)) }
      })
  }

  /// Returns a promise for the non-nil result of applying `transform` to the value.
  ///
  /// If `transform` returns nil, the promise is rejected with ``PMKError/compactMap(_:_:)``.
  ///
  /// **Execution.** The closure runs on the queue `on`, or in place if that is nil.
  @inlinable
  public func compactMap<U>(
    on: DispatchQueue? = conf.Q.map, flags: DispatchWorkItemFlags? = nil,
    _ transform: @escaping (T) throws -> U?
  ) -> Promise<U> {
    map(on: on, flags: flags) { value in
      guard let result = try transform(value) else { throw PMKError.compactMap(value, U.self) }
      return result
    }
  }

  /// Calls `body` with the value, and returns a promise for `Void`.
  ///
  /// If this one is rejected, or `body` throws, the result is rejected with that error.
  @inlinable
  public func done(
    on: DispatchQueue? = conf.Q.return, flags: DispatchWorkItemFlags? = nil,
    _ body: @escaping (T) throws -> Void
  ) -> Promise<Void> { map(on: on, flags: flags, body) }

  /// Calls `body` with the value, and passes the value on.
  ///
  /// If this one is rejected, or `body` throws, the result is rejected with that error.
  @inlinable
  public func get(
    on: DispatchQueue? = conf.Q.return, flags: DispatchWorkItemFlags? = nil,
    _ body: @escaping (T) throws -> Void
  ) -> Promise<T> {
    map(on: on, flags: flags) { value in
      try body(value)
      return value
    }
  }

  /// Calls `body` with the result, and passes it on.
  public func tap(
    on: DispatchQueue? = conf.Q.map, flags: DispatchWorkItemFlags? = nil,
    _ body: @escaping (Result<T>) -> Void
  ) -> Promise<T> {
    nonisolated(unsafe) let body = body
    let loss = LossLog()
    return Promise(
      core: attach().tap(on: place(on, flags)) { result in
        body(Result(result))
        loss.cancel()
      })
  }

  /// Returns a promise for `Void` that settles like this one, without the value.
  @inlinable
  public func asVoid() -> Promise<Void> { map(on: nil) { _ in } }

  /// The error; nil if the thenable isn't rejected.
  @inlinable
  public var error: Error? {
    if case .rejected(let error) = result { error } else { nil }
  }

  /// Whether the thenable is pending.
  @inlinable
  public var isPending: Bool { result == nil }

  /// Whether the thenable is fulfilled or rejected.
  @inlinable
  public var isResolved: Bool { result != nil }

  /// Whether the thenable is fulfilled.
  @inlinable
  public var isFulfilled: Bool { result?.isFulfilled ?? false }

  /// Whether the thenable is rejected.
  @inlinable
  public var isRejected: Bool { if case .rejected = result { true } else { false } }

  /// The value; nil if the thenable isn't fulfilled.
  @inlinable
  public var value: T? {
    if case .fulfilled(let value) = result { value } else { nil }
  }
}
