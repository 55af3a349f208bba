import Pledge

/// A value of any type that passes through Pledge, whose values are `Sendable`.
///
/// `@unchecked Sendable`: the value is written once, before the promise settles, and only read
/// afterwards. What it refers to is guarded as PromiseKit has always had it: by the program, whose
/// handlers run one after the other on the main queue unless it says otherwise.
@usableFromInline
struct Boxed<T>: @unchecked Sendable {
  @usableFromInline let value: T

  @inlinable
  init(_ value: T) { self.value = value }
}

/// The Pledge promise behind a thenable.
@usableFromInline
typealias Core<T> = Pledge.Promise<Boxed<T>>

extension Thenable {
  /// The Pledge promise behind this thenable, for a caller that is about to attach a handler to it.
  @inlinable
  func attach() -> Core<T> {
    if let promise = self as? Promise<T> {
      promise.handlerCount.wrappingAdd(1, ordering: .relaxed)
      return promise.core
    }
    if let guarantee = self as? Guarantee<T> { return guarantee.core }
    // A class of the user's: all there is to it is `pipe`.
    let box = Box<T>()
    pipe { box.seal($0) }
    return box.core
  }
}

// PromiseKit has no report of unhandled errors, so each error is marked where it enters Pledge: at a
// resolver, and where a handler throws.

/// Runs a handler, whose error is not to be reported.
@inlinable @inline(__always)
func unreported<Value>(_ body: () throws -> Value) throws -> Value {
  do {
    return try body()
  } catch {
    throw UnreportedError(error)
  }
}

extension Pledge.Promise {
  /// This promise, whose error is never reported.
  @inlinable
  var silenced: Self {
    cauterize()
    return self
  }
}

/// An error of Pledge's own by the name that it has in PromiseKit.
@usableFromInline
func exposed(_ error: any Error) -> any Error {
  if let error = error as? Pledge.PromiseError, case .returnedItself = error {
    return PMKError.returnedSelf
  }
  return error
}
