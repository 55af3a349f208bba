import Dispatch

extension Promise {
  /// A closure that returns a promise for the result of combining the accumulated value with an
  /// element.
  public typealias Reducer<Element> = (Value, Element) throws -> Promise<Value>

  /// Returns a promise for the result of combining this promise's value with all `items`, in order.
  ///
  /// Each call of `reducer` waits for the promise that the previous call returned. The first error
  /// rejects the result.
  ///
  /// - Parameters:
  ///   - queue: This parameter has no effect: `reducer` runs on `DispatchQueue.promises`.
  ///   - items: The elements to combine; a sequence is read inside this call.
  ///   - reducer: Combines the accumulated value with the next element.
  /// - Returns: A new pending promise, or this one if there are no items.
  @inlinable
  @discardableResult
  public func reduce<Element>(
    on queue: DispatchQueue = .promises, _ items: Element...,
    combine reducer: @escaping Reducer<Element>
  ) -> Promise<Value> { reduce(on: queue, items, reducer) }

  /// Returns a promise for the result of combining this promise's value with all `items`, in order.
  ///
  /// Each call of `reducer` waits for the promise that the previous call returned. The first error
  /// rejects the result.
  @inlinable
  @discardableResult
  public func reduce<Container: Sequence>(
    on queue: DispatchQueue = .promises, _ items: Container,
    _ reducer: @escaping Reducer<Container.Element>
  ) -> Promise<Value> {
    items.reduce(self) { promise, item in promise.then { value in try reducer(value, item) } }
  }
}
