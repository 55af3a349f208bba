@_spi(DropIns) import Pledge

/// A box for values of any type, because the values of Pledge's promises must be `Sendable`.
///
/// `@unchecked Sendable`: the value is written once, before the promise settles, and only read
/// afterward. As in the original library, user code must protect the objects to which the value
/// refers; by default, handlers run one after another on the main queue.
@frozen @usableFromInline
struct Boxed<T>: @unchecked Sendable {
  @usableFromInline let value: T

  @inlinable
  init(_ value: T) { self.value = value }
}

/// The Pledge promise in a thenable.
@usableFromInline
typealias Core<T> = Pledge.Promise<Boxed<T>>

extension Thenable {
  /// Returns the Pledge promise in this thenable, for a caller that attaches a handler to it.
  @inlinable
  func attach() -> Core<T> {
    // Both classes are final. Comparing types takes a fraction of the time of a cast.
    if Self.self == Promise<T>.self {
      let promise = unsafeDowncast(self, to: Promise<T>.self)
      promise.noteHandler()
      return promise.core
    }
    if Self.self == Guarantee<T>.self { return unsafeDowncast(self, to: Guarantee<T>.self).core }
    // A custom class provides only `pipe`.
    let box = Box<T>()
    pipe { box.seal($0) }
    return box.core
  }
}

// PromiseKit doesn't report unhandled errors, so each error is marked as unreported where it enters
// Pledge: in a resolver, and where a handler throws.

/// Runs a handler whose error isn't reported.
@inlinable @inline(__always)
func unreported<Value>(_ body: () throws -> Value) throws -> Value {
  do { return try body() } catch { throw unreported(error) }
}

/// Returns an error that rejects a promise with `error`, which isn't reported.
@usableFromInline
func unreported(_ error: any Error) -> UnreportedError {
  UnreportedError(error, isCancellation: error.isCancelled)
}

extension Pledge.Promise {
  /// This promise, whose error is never reported.
  @inlinable
  var silenced: Self {
    ignoreErrors()
    return self
  }
}

/// Returns the PromiseKit error for an error of Pledge; other errors are returned unchanged.
@usableFromInline
func exposed(_ error: any Error) -> any Error {
  if let error = error as? Pledge.PromiseError, case .returnedItself = error {
    return PMKError.returnedSelf
  }
  return error
}
