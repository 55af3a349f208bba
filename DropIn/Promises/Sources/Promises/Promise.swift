import Dispatch
@_spi(DropIns) import Pledge

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
/// resolution counts, and later ones are ignored. A promise is also its own resolver: you resolve
/// it with ``fulfill(_:)`` and ``reject(_:)``.
///
/// Handlers run on the queue given by `on:`, by default on `DispatchQueue.promises`, which is the
/// main queue unless you change it. They always take a hop there, even if the promise is already
/// resolved.
///
/// A promise that can no longer be resolved is deallocated silently, together with its handlers.
@_fixed_layout public final class Promise<Value> {
  /// The promise of the engine.
  @usableFromInline let storage: Pledge.Promise<UncheckedBox<Value>>

  /// The resolver of `storage`; nil if the promise was created resolved.
  @usableFromInline let ending: Ending<Value>?

  @inlinable
  init(storage: Pledge.Promise<UncheckedBox<Value>>, ending: Ending<Value>?) {
    self.storage = storage
    self.ending = ending
    if ending != nil { DispatchGroup.promises.enter() }
  }

  /// Creates a pending promise, which you resolve yourself.
  @inlinable
  public static func pending() -> Promise<Value> { Promise() }

  /// Creates a pending promise, which you resolve yourself.
  @inlinable
  public convenience init() {
    let (storage, resolver) = Pledge.Promise<UncheckedBox<Value>>.withUnmanagedResolver()
    self.init(storage: storage, ending: .direct(resolver))
  }

  /// Creates a promise that is rejected with `error`.
  @inlinable
  public convenience init(_ error: Error) {
    self.init(storage: .rejected(UnreportedError(error)), ending: nil)
  }

  /// Creates a promise that is fulfilled with the value of `work`, or rejected with the error that
  /// it throws.
  ///
  /// `work` is evaluated inside this call. A value that is an `NSError` rejects the promise.
  @inlinable
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

  /// Fulfills the promise with `resolution`, unless it is already resolved.
  ///
  /// It can be called from any thread. A value that is an `NSError` rejects the promise.
  @inlinable
  public func fulfill(_ resolution: Value) {
    if let error = rejection(hiddenIn: resolution) {
      reject(error)
    } else {
      fulfill(with: UncheckedBox(resolution))
    }
  }

  /// Rejects the promise with `error`, unless it is already resolved.
  ///
  /// It can be called from any thread.
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

// `@unchecked Sendable`: `storage` and `ending` are immutable and `Sendable`. As for
// `UncheckedBox`, user code makes sure that the value can be used on its queues. If the conformance
// depended on the value, the compiler would reject Swift 6 code that captures such promises in
// `@Sendable` closures and imports the original with `@preconcurrency`.
extension Promise: @unchecked Sendable {}

extension Promise: CustomStringConvertible {
  /// The state, as in `Pending: Int`, `Fulfilled: 3`, or `Rejected: timedOut`.
  public var description: String {
    switch outcome {
    case nil: "Pending: \(String(describing: Value.self))"
    case .success(let value): "Fulfilled: \(isNil(value) ? "nil" : String(describing: value))"
    case .failure(let error): "Rejected: \(String(describing: error.asPromiseError))"
    }
  }
}
