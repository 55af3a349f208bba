import Pledge

/// The write side of a ``Promise``: resolves it, once.
///
/// The first resolution counts; later ones are ignored. Handlers that run in place have run when a
/// call returns. If a resolver is deallocated while its promise is pending, it logs
/// ``LogEvent/pendingPromiseDeallocated``, and the promise stays pending forever.
@_fixed_layout public final class Resolver<T> {
  @usableFromInline let box: Box<T>

  @inlinable
  init(_ box: Box<T>) { self.box = box }

  @inlinable
  deinit {
    if box.core.isPending { conf.logHandler(.pendingPromiseDeallocated) }
  }
}

// `@unchecked Sendable`: `box` is immutable and thread-safe. The value doesn't have to be
// `Sendable`, because user code protects it, as for `Boxed`. You can therefore pass `seal.resolve`
// as a completion handler that must be `@Sendable`, whatever the type of the value.
extension Resolver: @unchecked Sendable {}

extension Resolver {
  /// Fulfills the promise with `value`.
  @inlinable
  public func fulfill(_ value: T) { box.seal(.fulfilled(value)) }

  /// Rejects the promise with `error`.
  @inlinable
  public func reject(_ error: Error) { box.seal(.rejected(error)) }

  /// Resolves the promise with `result`.
  @inlinable
  public func resolve(_ result: Result<T>) { box.seal(result) }

  /// Resolves the promise with the arguments of a completion handler; an error takes precedence
  /// over a value.
  ///
  /// With neither, the promise is rejected with ``PMKError/invalidCallingConvention``.
  @inlinable
  public func resolve(_ obj: T?, _ error: Error?) {
    if let error {
      reject(error)
    } else if let obj {
      fulfill(obj)
    } else {
      reject(PMKError.invalidCallingConvention)
    }
  }

  /// Resolves the promise with the arguments of a completion handler; an error takes precedence
  /// over a value.
  @inlinable
  public func resolve(_ obj: T, _ error: Error?) {
    if let error { reject(error) } else { fulfill(obj) }
  }

  /// Resolves the promise with the arguments of a completion handler; an error takes precedence
  /// over a value.
  ///
  /// With neither, the promise is rejected with ``PMKError/invalidCallingConvention``.
  @inlinable
  public func resolve(_ error: Error?, _ obj: T?) { resolve(obj, error) }

  /// Resolves the promise with `result`.
  @inlinable
  public func resolve<E: Error>(_ result: Swift.Result<T, E>) {
    switch result {
    case .success(let value): fulfill(value)
    case .failure(let error): reject(error)
    }
  }
}

extension Resolver where T == Void {
  /// Rejects the promise if there is an error, and fulfills it otherwise.
  @inlinable
  public func resolve(_ error: Error?) {
    if let error { reject(error) } else { fulfill(()) }
  }

  /// Fulfills the promise.
  @inlinable
  public func fulfill_() { fulfill(()) }
}
