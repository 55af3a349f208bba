@_spi(DropIns) import Pledge

/// Waits for all `thenables`, and returns a promise for their values in the same order.
///
/// The first rejection rejects the result immediately; the others continue. If there are no
/// thenables, the result is fulfilled with an empty array immediately.
public func when<U: Thenable>(fulfilled thenables: [U]) -> Promise<[U.T]> {
  all(thenables.map { $0.attach() }) { $0.map(\.value) }
}

/// Waits for all `thenables`, which can have different types, and returns a promise for their
/// values in order.
///
/// The first rejection rejects the result immediately; the others continue.
public func when(fulfilled thenables: [any Thenable]) -> Promise<[Any]> {
  func erased<U: Thenable>(_ thenable: U) -> Core<Any> {
    thenable.attach().map(on: .immediate) { Boxed($0.value) }
  }
  return all(thenables.map { erased($0) }) { $0.map(\.value) }
}

/// Waits for all `promises`; the first rejection rejects the result immediately.
public func when<U: Thenable>(fulfilled promises: U...) -> Promise<Void> where U.T == Void {
  when(fulfilled: promises)
}

/// Waits for all `promises`; the first rejection rejects the result immediately.
public func when<U: Thenable>(fulfilled promises: [U]) -> Promise<Void> where U.T == Void {
  all(promises.map { $0.attach() }) { _ in }
}

/// Waits for two thenables; the first rejection rejects the result immediately.
public func when<U: Thenable, V: Thenable>(fulfilled pu: U, _ pv: V) -> Promise<(U.T, V.T)> {
  let (u, v) = (pu.attach(), pv.attach())
  WhenProgress.count(u, v)
  return Promise(core: Pledge.Promise.all(u, v).map(on: .immediate) { Boxed(($0.value, $1.value)) })
}

/// Waits for three thenables; the first rejection rejects the result immediately.
public func when<U: Thenable, V: Thenable, W: Thenable>(
  fulfilled pu: U, _ pv: V, _ pw: W
) -> Promise<(U.T, V.T, W.T)> {
  let (u, v, w) = (pu.attach(), pv.attach(), pw.attach())
  WhenProgress.count(u, v, w)
  return Promise(
    core: Pledge.Promise.all(u, v, w).map(on: .immediate) { Boxed(($0.value, $1.value, $2.value)) })
}

/// Waits for four thenables; the first rejection rejects the result immediately.
public func when<U: Thenable, V: Thenable, W: Thenable, X: Thenable>(
  fulfilled pu: U, _ pv: V, _ pw: W, _ px: X
) -> Promise<(U.T, V.T, W.T, X.T)> {
  let (u, v, w, x) = (pu.attach(), pv.attach(), pw.attach(), px.attach())
  WhenProgress.count(u, v, w, x)
  return Promise(
    core: Pledge.Promise.all(u, v, w, x).map(on: .immediate) {
      Boxed(($0.value, $1.value, $2.value, $3.value))
    })
}

/// Waits for five thenables; the first rejection rejects the result immediately.
public func when<U: Thenable, V: Thenable, W: Thenable, X: Thenable, Y: Thenable>(
  fulfilled pu: U, _ pv: V, _ pw: W, _ px: X, _ py: Y
) -> Promise<(U.T, V.T, W.T, X.T, Y.T)> {
  let (u, v, w, x, y) = (pu.attach(), pv.attach(), pw.attach(), px.attach(), py.attach())
  WhenProgress.count(u, v, w, x, y)
  return Promise(
    core: Pledge.Promise.all(u, v, w, x, y).map(on: .immediate) {
      Boxed(($0.value, $1.value, $2.value, $3.value, $4.value))
    })
}

/// Waits for the thenables of an iterator, of which at most `concurrently` are pending at a time.
///
/// Whenever fewer are pending, the iterator is called for the next one, by one thread at a time.
/// The values are in the order of the iterator. After a rejection, it isn't called again. If
/// `concurrently` isn't positive, the result is rejected with ``PMKError/badInput``.
public func when<It: IteratorProtocol>(
  fulfilled promiseIterator: It, concurrently: Int
) -> Promise<[It.Element.T]> where It.Element: Thenable {
  guard concurrently > 0 else { return Promise(error: PMKError.badInput) }
  let loss = LossLog()
  return Promise(
    core: all(promiseIterator, concurrently) { $0.attach() }
      .tap(on: .immediate) { _ in loss.cancel() }
      .map(on: .immediate) { Boxed($0.map(\.value)) }
      .silenced)
}

/// Starts work for the elements of an iterator, at most `limit` at a time, and waits for its
/// results.
func all<It: IteratorProtocol, T: Sendable>(
  _ iterator: It, _ limit: Int, _ start: @escaping (It.Element) -> Pledge.Promise<T>
) -> Pledge.Promise<[T]> {
  // Starts the work for the iterator's next element.
  var iterator = iterator
  let next: () -> Pledge.Promise<T>? = { iterator.next().map(start) }
  // After a rejection, nothing waits for the others anymore, but they continue.
  return .all(
    on: .immediate, Starts(start: next), concurrently: limit, cancellingRest: true
  ) { $0.uncancellable() }
}

/// A sequence of promises that are created on demand.
///
/// `@unchecked Sendable`: only Pledge uses it, on one thread at a time.
private struct Starts<T: Sendable>: Sequence, IteratorProtocol, @unchecked Sendable {
  let start: () -> Pledge.Promise<T>?

  func next() -> Pledge.Promise<T>? { start() }
}

/// Waits for all `inputs`, and returns a promise for the result of applying `transform` to their
/// values.
func all<T, U>(
  _ inputs: [Core<T>], _ transform: @escaping @Sendable ([Boxed<T>]) -> U
) -> Promise<U> {
  if inputs.isEmpty { return .value(transform([])) }
  WhenProgress.count(inputs)
  return Promise(core: Pledge.Promise.all(inputs).map(on: .immediate) { Boxed(transform($0)) })
}
