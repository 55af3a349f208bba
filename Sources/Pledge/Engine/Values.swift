// The typed half of the cells: small, so that it is specialized where it is used.

/// A promise's cell that is settled by a resolver.
///
/// `@unchecked Sendable`: for the same reasons as `Cell`.
@_fixed_layout @usableFromInline
final class Root<Value>: Cell, @unchecked Sendable {
  @usableFromInline let storage = ValueStorage<Value>()

  deinit { storage.deinitialize(if: hasHandlerValue != nil) }

  @inlinable
  override init() { super.init() }

  @inlinable
  init(value: Value) {
    storage.initialize(to: value)
    super.init(settled: nil)
  }

  @inlinable
  init(rejection: Rejection) { super.init(settled: rejection) }
}

/// A promise's cell that is settled by a handler.
///
/// `@unchecked Sendable`: for the same reasons as `Handler`.
@_fixed_layout @usableFromInline
final class Derived<Value>: Handler, @unchecked Sendable {
  @usableFromInline let storage = ValueStorage<Value>()

  deinit { storage.deinitialize(if: hasHandlerValue != nil) }

  @inlinable
  override init(
    _ role: Role, of source: __shared Cell, on target: __shared HandlerTarget,
    body: __owned ErasedClosure?, run: @escaping @Sendable (Handler, Cell) -> Void
  ) { super.init(role, of: source, on: target, body: consume body, run: run) }
}

extension Cell {
  /// The value of a settled, fulfilled cell.
  ///
  /// `Value` must be the type with which the cell was created, as the promise types ensure.
  @inlinable
  final func value<Value>(as type: Value.Type, isHandler: Bool? = nil) -> Value {
    if isHandler ?? self.isHandler {
      unsafeDowncast(self, to: Derived<Value>.self).storage.value
    } else {
      unsafeDowncast(self, to: Root<Value>.self).storage.value
    }
  }

  /// The result of a settled cell, whose error, if any, counts as handled.
  @inlinable
  final func handledResult<Value>() -> Result<Value, any Error> {
    guard let rejection else { return .success(value(as: Value.self)) }
    rejection.markHandled()
    return .failure(rejection.error)
  }

  /// Fulfills this cell, unless it is already settled; see `claim(unlessCancelled:)`.
  @inlinable @discardableResult
  final func fulfill<Value>(_ value: Value, unlessCancelled: Bool = false) -> Bool {
    guard claim(unlessCancelled: unlessCancelled) else { return false }
    unsafeDowncast(self, to: Root<Value>.self).storage.initialize(to: value)
    publish()
    return true
  }

  /// Rejects this cell, which belongs to a resolver, unless it is already settled.
  ///
  /// - Parameter source: The cell whose rejection it is, if there is one.
  @usableFromInline @discardableResult
  final func reject(
    _ rejection: Rejection, of source: Cell? = nil, unlessCancelled: Bool = false
  ) -> Bool {
    // The thread that cancels this cell will reject it, and name the work that remains.
    if rejection === Rejection.cancellation, source != nil, isCancelled { return false }
    guard claim(unlessCancelled: unlessCancelled) else {
      // A late rejection is ignored, and must not be reported.
      rejection.markHandled()
      return false
    }
    // A consumer that has cancelled doesn't wait for an error; other consumers of `source` can.
    let isUnwanted = isCancelled && source?.hadManyConsumers != true
    publish(isUnwanted ? rejection.silenced() : rejection)
    return true
  }

  /// Rejects this cell with `error`, unless it is already settled.
  @usableFromInline
  final func reject(_ error: any Error, origin: SourceLocation) -> Bool {
    reject(Rejection(error, origin: origin))
  }

  /// Settles this cell, which belongs to a resolver, with the result of `source`, a settled cell of
  /// the same value type.
  @inlinable
  final func copy<Value>(from source: Cell, as type: Value.Type) {
    if let rejection = source.rejection {
      reject(rejection, of: source)
    } else {
      fulfill(source.value(as: type))
    }
  }
}

extension Handler {
  /// Settles this handler's promise with the result of `source`, a settled cell of the same value
  /// type.
  @inlinable
  final func copyResult<Value>(of source: Cell, as type: Value.Type) {
    if let rejection = source.rejection {
      fail(rejection)
    } else {
      finish(source.value(as: type))
    }
  }
}
