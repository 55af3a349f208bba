import Dispatch
import Pledge

/// The eventual result of an operation: a value or an error.
///
/// ```swift
/// getUser(id: 7).then { user in
///   getAvatar(of: user)
/// }.then { avatar in
///   self.imageView.image = avatar
/// }.catch { error in
///   self.show(error)
/// }
/// ```
///
/// A promise is pending until it is fulfilled with a value or rejected with an error; the first
/// resolution counts, and later ones are ignored. One object is both what is waited for and what
/// ``fulfill(_:)`` and ``reject(_:)`` resolve.
///
/// Handlers run on the queue given by `on:`, by default on `DispatchQueue.promises`, which is the
/// main queue unless changed. They always take a hop there, also if the promise is resolved already.
///
/// A promise that can no longer be resolved is deallocated in silence, and its handlers with it.
public final class Promise<Value> {
  /// The promise that does the work.
  @usableFromInline let storage: Pledge.Promise<UncheckedBox<Value>>

  /// What resolves `storage`; nil where the promise was made resolved.
  @usableFromInline let ending: Ending<Value>?

  @inlinable
  init(storage: Pledge.Promise<UncheckedBox<Value>>, ending: Ending<Value>?) {
    self.storage = storage
    self.ending = ending
    if ending != nil { DispatchGroup.promises.enter() }
  }

  /// Creates a promise that is pending until it is resolved by hand.
  @inlinable
  public static func pending() -> Promise<Value> { Promise() }

  /// Creates a promise that is pending until it is resolved by hand.
  @inlinable
  public convenience init() {
    let (storage, resolver) = Pledge.Promise<UncheckedBox<Value>>.withUnmanagedResolver()
    self.init(storage: storage, ending: .direct(resolver))
  }

  // The two that follow are equally disfavored: between them the compiler has to choose as it would
  // without the attribute, and both have to stand back behind the one that takes a Pledge promise.

  /// Creates a promise that is rejected with `error`.
  @inlinable @_disfavoredOverload
  public convenience init(_ error: Error) {
    self.init(storage: .rejected(UnreportedError(error)), ending: nil)
  }

  /// Creates a promise that is fulfilled with the value of `work`, or rejected with what it throws.
  ///
  /// `work` is evaluated inside this call. A value that is an `NSError` rejects the promise.
  @inlinable @_disfavoredOverload
  public convenience init(_ work: @autoclosure () throws -> Value) {
    let storage: Pledge.Promise<UncheckedBox<Value>>
    do {
      let value = try work()
      if let error = rejection(hiddenIn: value) {
        storage = .rejected(UnreportedError(error))
      } else {
        storage = .value(UncheckedBox(value))
      }
    } catch {
      storage = .rejected(UnreportedError(error))
    }
    self.init(storage: storage, ending: nil)
  }

  deinit {
    guard let ending, ending.isPending else { return }
    ending.abandon()
    DispatchGroup.promises.leave()
  }

  /// Fulfills the promise with `resolution`, unless it is resolved already.
  ///
  /// May be called from any thread. A value that is an `NSError` rejects the promise.
  @inlinable
  public func fulfill(_ resolution: Value) {
    if let error = rejection(hiddenIn: resolution) {
      reject(error)
    } else {
      fulfill(with: UncheckedBox(resolution))
    }
  }

  /// Rejects the promise with `error`, unless it is resolved already.
  ///
  /// May be called from any thread.
  @inlinable
  public func reject(_ error: Error) {
    guard let ending, ending.reject(error) else { return }
    DispatchGroup.promises.leave()
  }

  @inlinable
  func fulfill(with box: UncheckedBox<Value>) {
    guard let ending, ending.fulfill(box) else { return }
    DispatchGroup.promises.leave()
  }
}

/// A promise may be shared between threads if its value may.
///
/// Guarded by the engine: `storage` and `ending` are immutable and `Sendable` themselves.
extension Promise: @unchecked Sendable where Value: Sendable {}

extension Promise: CustomStringConvertible {
  /// The state, as in `Pending: Int`, `Fulfilled: 3` or `Rejected: timedOut`.
  public var description: String {
    switch outcome {
    case nil: "Pending: \(String(describing: Value.self))"
    case .success(let value): "Fulfilled: \(isNil(value) ? "nil" : String(describing: value))"
    case .failure(let error): "Rejected: \(String(describing: error.asPromiseError))"
    }
  }
}
