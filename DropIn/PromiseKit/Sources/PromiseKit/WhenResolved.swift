import Pledge

/// Waits for all `promises`, fulfilled or rejected, and returns a guarantee for their results in
/// order.
public func when<T>(resolved promises: Promise<T>...) -> Guarantee<[Result<T>]> {
  when(resolved: promises)
}

/// Waits for all `promises`, fulfilled or rejected, and returns a guarantee for their results in
/// order.
public func when<T>(resolved promises: [Promise<T>]) -> Guarantee<[Result<T>]> {
  guarantee(Pledge.Promise.all(promises.map { outcome(of: $0) })) { $0.map(\.value) }
}

/// Waits for the thenables of an iterator, of which at most `concurrently` are pending at a time.
///
/// The results are in the order of the iterator; a rejection doesn't end the iteration. If
/// `concurrently` isn't positive, the only result is `.rejected(PMKError.badInput)`.
public func when<It: IteratorProtocol>(
  resolved promiseIterator: It, concurrently: Int
) -> Guarantee<[Result<It.Element.T>]> where It.Element: Thenable {
  guard concurrently > 0 else { return .value([.rejected(PMKError.badInput)]) }
  return guarantee(all(promiseIterator, concurrently) { outcome(of: $0) }) { $0.map(\.value) }
}

/// Returns a promise for the result of `thenable`, which is never rejected.
private func outcome<U: Thenable>(of thenable: U) -> Core<Result<U.T>> {
  thenable.attach()
    .map(on: .immediate) { Boxed(Result.fulfilled($0.value)) }
    .recover(on: .immediate) { .value(Boxed(Result.rejected(exposed($0)))) }
}

/// Returns a guarantee for the result of applying `transform` to the value of a promise that is
/// never rejected.
func guarantee<T: Sendable, U>(
  _ core: Pledge.Promise<T>, _ transform: @escaping @Sendable (T) -> U
) -> Guarantee<U> {
  if case .success(let value) = core.currentResult { return .value(transform(value)) }
  let watch = Watch()
  return Guarantee(
    core: core.map(on: .immediate) { value in
      watch.keep()
      return Boxed(transform(value))
    },
    watch: watch)
}
