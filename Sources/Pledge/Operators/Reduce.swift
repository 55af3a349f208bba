extension Thenable {
  /// Combines the value with each of `elements`, one after the other.
  ///
  /// `combine` is called for the next element when the promise it returned for the one before has been
  /// fulfilled. The first rejection, or throw, ends it. No elements give the value as it is.
  ///
  /// **Execution.** `combine` runs in the isolation in which it was written.
  @inlinable
  public func reduce<S: Sequence & Sendable>(
    _ elements: S,
    @_inheritActorContext _ combine:
      @escaping @Sendable @isolated(any) (Value, S.Element) throws -> Promise<Value>
  ) -> Promise<Value> where S.Element: Sendable {
    reduced(
      elements, HandlerTarget(isolation: combine.isolation),
      Isolated(combine).assumingIsolated(
        as: (@Sendable (Value, S.Element) throws -> Promise<Value>).self))
  }

  /// Combines the value with each of `elements`, one after the other.
  ///
  /// `combine` is called for the next element when the promise it returned for the one before has been
  /// fulfilled. The first rejection, or throw, ends it. No elements give the value as it is.
  ///
  /// **Execution.** `combine` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func reduce<S: Sequence & Sendable>(
    on executor: some PromiseExecutor, _ elements: S,
    _ combine: @escaping @Sendable (Value, S.Element) throws -> Promise<Value>
  ) -> Promise<Value> where S.Element: Sendable {
    reduced(elements, HandlerTarget(executor), combine)
  }

  @inlinable
  func reduced<S: Sequence & Sendable>(
    _ elements: S, _ target: HandlerTarget,
    _ combine: @escaping @Sendable (Value, S.Element) throws -> Promise<Value>
  ) -> Promise<Value> where S.Element: Sendable {
    promise.folded(Array(elements)[...], target, combine)
  }
}

extension Promise {
  @inlinable
  func folded<Element: Sendable>(
    _ elements: ArraySlice<Element>, _ target: HandlerTarget,
    _ combine: @escaping @Sendable (Value, Element) throws -> Promise
  ) -> Promise {
    guard let element = elements.first else { return self }
    return chained(target) { value in
      try combine(value, element).folded(elements.dropFirst(), target, combine)
    }
  }
}
