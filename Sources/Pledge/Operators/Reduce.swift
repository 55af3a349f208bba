extension Thenable {
  /// Combines the value with each of `elements`, one after the other.
  ///
  /// `combine` is called with the next element when the promise that it returned for the previous
  /// one is fulfilled. The first rejection or thrown error stops the iteration and rejects the
  /// result. If there are no elements, the value is passed on unchanged. Elements are requested
  /// lazily: the first one inside this call, and each of the others when `combine` has returned for
  /// the previous one.
  ///
  /// **Execution.** `combine` runs in the isolation in which it was written.
  @inlinable
  public func reduce<S: Sequence & Sendable>(
    _ elements: S,
    @_inheritActorContext _ combine:
      @escaping @Sendable @isolated(any) (Value, S.Element) throws -> Promise<Value>
  ) -> Promise<Value> where S.Element: Sendable {
    reduced(elements, Placed(combine))
  }

  /// The same as ``reduce(_:_:)``; `combine` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func reduce<S: Sequence & Sendable>(
    on executor: some PromiseExecutor, _ elements: S,
    _ combine: @escaping @Sendable (Value, S.Element) throws -> Promise<Value>
  ) -> Promise<Value> where S.Element: Sendable {
    reduced(elements, Placed(combine, on: executor))
  }

  @inlinable
  func reduced<S: Sequence & Sendable>(
    _ elements: S, _ combine: Placed<@Sendable (Value, S.Element) throws -> Promise<Value>>
  ) -> Promise<Value> where S.Element: Sendable {
    let iterator = SerialIterator(elements.makeIterator())
    @Sendable func fold(_ promise: Promise<Value>) -> Promise<Value> {
      guard let element = iterator.next() else { return promise }
      return promise.chained(
        combine.map { combine in { value in fold(try combine(value, element)) } })
    }
    return fold(promise)
  }
}

/// An iterator that is used by one turn on an executor after another.
///
/// `@unchecked Sendable`: a turn starts only when the previous one has ended.
@_fixed_layout @usableFromInline
final class SerialIterator<Iterator: IteratorProtocol>: @unchecked Sendable {
  @usableFromInline var iterator: Iterator
  @inlinable init(_ iterator: Iterator) { self.iterator = iterator }
  @inlinable func next() -> Iterator.Element? { iterator.next() }
}
