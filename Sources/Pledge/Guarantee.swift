/// A promise that can't fail.
///
/// A guarantee has no error to catch, and its operators take closures that don't throw. With a
/// closure that throws or returns a ``Promise``, an operator returns a ``Promise``.
///
/// Handlers run in the isolation in which they were written, like those of ``Promise``.
///
/// A guarantee is *broken* if its resolver is dropped, if an executor drops the handler that would
/// fulfill it, or if every promise made from it is cancelled. Handlers that take its value then
/// never run, and promises made from it are rejected with ``BrokenPromiseError`` or
/// `CancellationError`; `finally` still runs.
@frozen public struct Guarantee<Value: Sendable>: Sendable {
  @usableFromInline let cell: Cell

  @inlinable
  init(cell: Cell) { self.cell = cell }
}

extension Guarantee: Hashable {
  /// Returns whether both values refer to the same guarantee.
  public static func == (first: Self, second: Self) -> Bool { first.cell === second.cell }

  /// Hashes the identity of the guarantee.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(cell)) }
}

extension Guarantee {
  /// Creates a guarantee that is fulfilled with `value`.
  @inlinable
  public static func value(_ value: Value) -> Guarantee {
    Guarantee(cell: Root<Value>(value: value))
  }

  /// Creates a pending guarantee and the resolver that fulfills it.
  @inlinable
  public static func withResolvers(
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> (guarantee: Guarantee, resolver: GuaranteeResolver<Value>) {
    let (promise, resolver) = Promise<Value>.withResolvers(fileID: fileID, line: line)
    return (Guarantee(cell: promise.cell), GuaranteeResolver(resolver: resolver))
  }

  /// Creates a guarantee that `body` fulfills through its resolver, now or later.
  ///
  /// `body` runs inside this call.
  @inlinable
  public init(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: (GuaranteeResolver<Value>) -> Void
  ) {
    let (guarantee, resolver) = Guarantee.withResolvers(fileID: fileID, line: line)
    body(resolver)
    self = guarantee
  }

  /// Creates a guarantee that is fulfilled with the value of `promise`, and is broken if that is
  /// rejected.
  @_spi(DropIns)
  public init(expectingValueOf promise: Promise<Value>) { self.init(cell: promise.cell) }

  /// The value, or nil while the guarantee is pending.
  @inlinable
  public var currentValue: Value? {
    guard cell.isSettled, cell.rejection == nil else { return nil }
    return cell.value(as: Value.self)
  }

  /// Whether the guarantee is pending.
  @inlinable
  public var isPending: Bool { cell.looksPending }

  /// A promise for the value, which is another consumer of this guarantee.
  ///
  /// Cancel it if you no longer need the value. Other consumers aren't affected; if there are none,
  /// the producer is asked to stop.
  @inlinable
  public var promise: Promise<Value> { cell.looksPending ? base.newConsumer() : base }

  /// This guarantee as a promise that shares its cell.
  @inlinable
  var base: Promise<Value> { Promise(cell: cell) }
}

extension Guarantee: CustomStringConvertible {
  /// The state: `Guarantee<Int>(pending)` or `Guarantee<Int>(fulfilled: 3)`.
  public var description: String {
    switch base.currentResult {
    case nil: "Guarantee<\(Value.self)>(pending)"
    case .success(let value): "Guarantee<\(Value.self)>(fulfilled: \(value))"
    case .failure(let error): "Guarantee<\(Value.self)>(broken: \(error))"
    }
  }
}
