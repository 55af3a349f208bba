/// The write side of a ``Promise``: settles it, once.
///
/// The first settlement wins; later ones are ignored and return `false`. All methods can be called
/// from any thread. If a resolver is deallocated while its promise is pending, the promise is
/// rejected with ``BrokenPromiseError``.
@_fixed_layout public final class Resolver<Value: Sendable>: Sendable {
  @usableFromInline let cell: Cell
  @usableFromInline let origin: SourceLocation

  @inlinable
  init(cell: Cell, origin: SourceLocation) {
    self.cell = cell
    self.origin = origin
  }

  deinit { cell.breakUnlessCancelled(origin: origin) }

  /// Fulfills the promise with `value`, unless it is already settled.
  ///
  /// - Returns: Whether this call settled the promise.
  @inlinable @discardableResult
  public func fulfill(_ value: Value) -> Bool { cell.fulfill(value) }

  /// Rejects the promise with `error`, unless it is already settled.
  ///
  /// - Returns: Whether this call settled the promise.
  @inlinable @discardableResult
  public func reject(_ error: any Error) -> Bool { cell.reject(error, origin: origin) }

  /// Settles the promise with `result`, unless it is already settled.
  ///
  /// - Returns: Whether this call settled the promise.
  @inlinable @discardableResult
  public func resolve(_ result: Result<Value, some Error>) -> Bool {
    resolve(result.mapError { $0 as any Error })
  }

  /// Settles the promise with `result`, unless it is already settled.
  ///
  /// - Returns: Whether this call settled the promise.
  @inlinable @discardableResult
  public func resolve(_ result: Result<Value, any Error>) -> Bool {
    switch result {
    case .success(let value): fulfill(value)
    case .failure(let error): reject(error)
    }
  }

  /// Settles the promise with the result of `promise`, as soon as that is available.
  ///
  /// Until then, another call on this resolver can settle the promise first; `promise` continues,
  /// and its error counts as handled. Cancelling this promise cancels `promise`, unless that has
  /// other consumers. Promises that are resolved with each other in a cycle, or with themselves,
  /// stay pending until one of them is cancelled.
  ///
  /// A loop in which each round resolves the promise of the round before keeps memory for every
  /// round. Return the promise from `then` instead, which takes constant memory.
  @inlinable
  public func resolve(with promise: Promise<Value>) {
    let forwarder = Handler(
      .observer, of: promise.cell, on: .inPlace,
      // The forwarder retains the resolver, so that the promise isn't rejected when the program
      // drops it.
      body: ErasedClosure({ [self] in _ = self } as () -> Void),
      run: { [cell] forwarder, source in
        cell.copy(from: source, as: Value.self)
        forwarder.dropBody()
      })
    forwarder.noteObserving(for: cell)
    promise.cell.attach(forwarder)
    cell.addForwarder(forwarder, producer: nil)
  }

  /// Abandons the promise: it stays pending forever.
  ///
  /// Closures that wait for the promise are released without being called, and promises made from
  /// it are abandoned in turn. `timeout` still rejects when the time limit is exceeded, and `await`
  /// and `wait()` throw ``BrokenPromiseError``. Use this method in adapters to libraries whose
  /// promises can be dropped silently. Elsewhere, release the resolver, which rejects the promise.
  @inlinable @_spi(DropIns)
  public func abandon() { cell.abandon() }

  /// Whether the promise is pending.
  @inlinable
  public var isPending: Bool { cell.looksPending }
}

extension Cell {
  /// Rejects this cell, whose resolver was deallocated, unless the cell has settled or a thread
  /// that is cancelling it will reject it.
  @usableFromInline
  final func breakUnlessCancelled(origin: SourceLocation) {
    if isSettled { return }
    let error = BrokenPromiseError(origin: origin, reason: .resolverDropped)
    let rejection = Rejection(error, origin: origin)
    if claim(unlessCancelled: true) { publish(rejection) } else { rejection.markHandled() }
  }

  /// Adds `forwarder`, which waits for the promise that this cell is resolved with, to be removed
  /// when the cell is cancelled or settled in another way.
  ///
  /// `producer` is the only cell whose result settles this one; nil if there can be others.
  @usableFromInline
  final func addForwarder(_ forwarder: Handler, producer: Cell?) {
    let result = withCancelHooks {
      $0.append(forwarder)
      if let producer { $0.producer = .cell(producer) }
    }
    if result.added { return }
    forwarder.leave(result.isCancelled ? .cancelled : .keeping)
  }
}

/// The write side of a ``Guarantee``: fulfills it, once.
@frozen public struct GuaranteeResolver<Value: Sendable>: Sendable {
  @usableFromInline let resolver: Resolver<Value>

  @inlinable
  init(resolver: Resolver<Value>) { self.resolver = resolver }

  /// Fulfills the guarantee with `value`, unless it is already fulfilled.
  ///
  /// - Returns: Whether this call fulfilled it.
  @inlinable @discardableResult
  public func fulfill(_ value: Value) -> Bool { resolver.fulfill(value) }

  /// Fulfills the guarantee when `guarantee` is fulfilled; see ``Resolver/resolve(with:)``.
  @inlinable
  public func resolve(with guarantee: Guarantee<Value>) { resolver.resolve(with: guarantee.base) }

  /// Whether the guarantee is pending.
  @inlinable
  public var isPending: Bool { resolver.isPending }
}

// MARK: - Completion handlers

extension Resolver {
  /// Settles the promise with the arguments of a completion handler; an error takes precedence over
  /// a value.
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
}

extension Resolver {
  /// Settles the promise with the arguments of a completion handler with two values, both of which
  /// are required; an error takes precedence over them.
  ///
  /// If a value is missing, and there's no error, the promise is rejected with
  /// ``PromiseError/noValueAndNoError``.
  @inlinable
  public func resolve<A: Sendable, B: Sendable>(
    _ first: A?, _ second: B?, _ error: (any Error)?
  ) where Value == (A, B) {
    resolve(first.flatMap { first in second.map { (first, $0) } }, error)
  }
}

extension Resolver where Value == Void {
  /// Fulfills the promise, unless it is already settled.
  @inlinable @discardableResult
  public func fulfill() -> Bool { fulfill(()) }

  /// Rejects the promise if there is an error, and fulfills it otherwise.
  @inlinable
  public func resolve(_ error: (any Error)?) {
    if let error { reject(error) } else { fulfill(()) }
  }
}

extension GuaranteeResolver where Value == Void {
  /// Fulfills the guarantee, unless it is already fulfilled.
  @inlinable @discardableResult
  public func fulfill() -> Bool { fulfill(()) }
}

extension Resolver {
  /// Makes the promise stay pending when all its consumers have cancelled, because its producer can't
  /// stop; `cancel()` on the promise itself still rejects it.
  package func keepProducer() { cell.keep(handlesErrors: false) }
}
