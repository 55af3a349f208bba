import Dispatch

extension Promise {
  /// Creates a promise of what was accumulated so far and the next element.
  public typealias Reducer<Element> = (Value, Element) throws -> Promise<Value>

  /// Returns a promise for what `reducer` makes of this one's value and all `items`, in order.
  ///
  /// Each call waits for the promise that the one before returned. The first error ends it.
  ///
  /// - Parameters:
  ///   - queue: Has no effect: `reducer` runs on `DispatchQueue.promises`.
  ///   - items: The elements to combine.
  ///   - reducer: Combines what was accumulated so far with the next element.
  /// - Returns: A new pending promise, or this one if there are no items.
  @inlinable
  @discardableResult
  public func reduce<Element>(
    on queue: DispatchQueue = .promises, _ items: Element...,
    combine reducer: @escaping Reducer<Element>
  ) -> Promise<Value> {
    reduce(on: queue, items, reducer)
  }

  /// Returns a promise for what `reducer` makes of this one's value and all `items`, in order.
  ///
  /// Each call waits for the promise that the one before returned. The first error ends it.
  ///
  /// - Parameters:
  ///   - queue: Has no effect: `reducer` runs on `DispatchQueue.promises`.
  ///   - items: The elements to combine; they are read inside this call.
  ///   - reducer: Combines what was accumulated so far with the next element.
  /// - Returns: A new pending promise, or this one if there are no items.
  @inlinable
  @discardableResult
  public func reduce<Container: Sequence>(
    on queue: DispatchQueue = .promises, _ items: Container,
    _ reducer: @escaping Reducer<Container.Element>
  ) -> Promise<Value> {
    items.reduce(self) { promise, item in
      promise.then { value in try reducer(value, item) }
    }
  }
}
