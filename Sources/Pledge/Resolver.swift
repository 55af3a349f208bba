/// The write side of a ``Promise``: settles it, once.
///
/// The first settlement wins; later ones are ignored and return `false`. All methods may be called
/// from any thread. If the last reference to a resolver goes away and the promise is still pending,
/// the promise is rejected with ``BrokenPromise``.
public final class Resolver<Value: Sendable>: Sendable {
  @usableFromInline let cell: Cell
  @usableFromInline let origin: Origin

  @inlinable
  init(cell: Cell, origin: Origin) {
    self.cell = cell
    self.origin = origin
  }

  deinit {
    if cell.isSettledRoot { return }
    let root = cell.root
    guard !root.isSettledRoot, !root.isAbandoned else { return }
    if cell.isCancellationRequested {
      // The producer let go because it was told to, or is about to be. Who comes first tells it,
      // and rejects the promise after that.
      cell.cancelInput()
    } else {
      cell.rejectBroken(origin: origin)
    }
  }

  /// Fulfills the promise with `value`, unless it is settled already.
  ///
  /// - Returns: Whether this call settled the promise.
  @inlinable @discardableResult
  public func fulfill(_ value: Value) -> Bool { cell.fulfill(value) }

  /// Rejects the promise with `error`, unless it is settled already.
  ///
  /// - Returns: Whether this call settled the promise.
  @inlinable @discardableResult
  public func reject(_ error: any Error) -> Bool { cell.reject(error, origin: origin) }

  /// Settles the promise with `result`, unless it is settled already.
  ///
  /// - Returns: Whether this call settled the promise.
  @inlinable @discardableResult
  public func resolve(_ result: Result<Value, some Error>) -> Bool {
    switch result {
    case .success(let value): fulfill(value)
    case .failure(let error): reject(error)
    }
  }

  /// Settles the promise with `result`, unless it is settled already.
  ///
  /// - Returns: Whether this call settled the promise.
  @inlinable @discardableResult
  public func resolve(_ result: Result<Value, any Error>) -> Bool {
    switch result {
    case .success(let value): fulfill(value)
    case .failure(let error): reject(error)
    }
  }

  /// Settles the promise as `promise` settles.
  ///
  /// Until then other calls of this resolver may still win. Cancelling the promise withdraws from
  /// `promise`. Promises that are resolved with each other, in a circle, stay pending until one of
  /// them is cancelled.
  @inlinable
  public func resolve(with promise: Promise<Value>) {
    let forwarder = Handler(
      input: 0, source: promise.cell, target: nil,
      // The forwarder keeps the resolver, so that letting go of it does not break the promise.
      body: ErasedClosure({ [self] in _ = self } as () -> Void),
      run: { [cell] forwarder, source in
        cell.copy(from: source, as: Value.self)
        forwarder.dropBody()
      })
    forwarder.noteObserving(for: cell)
    promise.cell.attach(forwarder)
    cell.onCancel { [weak forwarder] in forwarder?.withdraw() }
  }

  /// Lets go of the promise unsettled: it stays pending, for ever.
  ///
  /// What waits for it is dropped without being called, and so is what waits for that; a task that
  /// awaits it is never resumed. For adapters to libraries whose promises may be given up in
  /// silence; elsewhere let the resolver go, which rejects the promise.
  @inlinable
  public func abandon() { cell.abandon() }

  /// Whether the promise has not settled yet.
  @inlinable
  public var isPending: Bool { !cell.root.isSettledRoot }
}

extension Cell {
  @usableFromInline
  final func reject(_ error: any Error, origin: Origin) -> Bool {
    // Claimed first: an error that comes too late is ignored, and so must not be reported.
    switch claim() {
    case .lost:
      return false
    case .won:
      publish(Rejection(error, origin: origin))
      return true
    case .linked:
      guard root.reject(error, origin: origin) else { return false }
      dropInput()
      return true
    }
  }

  @usableFromInline
  final func rejectBroken(origin: Origin) {
    let error = BrokenPromise(origin: origin, reason: .resolverDropped)
    reject(Rejection(error, origin: origin))
  }
}

/// The write side of a ``Guarantee``: fulfills it, once.
public struct GuaranteeResolver<Value: Sendable>: Sendable {
  @usableFromInline let resolver: Resolver<Value>

  @inlinable
  init(resolver: Resolver<Value>) { self.resolver = resolver }

  /// Fulfills the guarantee with `value`, unless it is fulfilled already.
  ///
  /// - Returns: Whether this call fulfilled it.
  @inlinable @discardableResult
  public func fulfill(_ value: Value) -> Bool { resolver.fulfill(value) }
}

// MARK: - Completion handlers of every shape

extension Resolver {
  /// Settles the promise with what a completion handler was given: an error wins over a value.
  ///
  /// With neither, the promise is rejected with ``PromiseError/noValueAndNoError``.
  @inlinable
  public func resolve(_ value: Value?, _ error: (any Error)?) {
    if let error {
      reject(error)
    } else if let value {
      fulfill(value)
    } else {
      reject(PromiseError.noValueAndNoError)
    }
  }

  /// Settles the promise with what a completion handler was given: an error wins over a value.
  @inlinable
  public func resolve(_ error: (any Error)?, _ value: Value?) { resolve(value, error) }
}

extension Resolver where Value == Void {
  /// Fulfills the promise, unless it is settled already.
  @inlinable @discardableResult
  public func fulfill() -> Bool { fulfill(()) }

  /// Rejects the promise if there is an error, and fulfills it otherwise.
  @inlinable
  public func resolve(_ error: (any Error)?) {
    if let error { reject(error) } else { fulfill(()) }
  }
}

extension GuaranteeResolver where Value == Void {
  /// Fulfills the guarantee, unless it is fulfilled already.
  @inlinable @discardableResult
  public func fulfill() -> Bool { fulfill(()) }
}
