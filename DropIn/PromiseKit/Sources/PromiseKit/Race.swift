@_spi(DropIns) import Pledge

/// Returns a promise that settles like the first of `thenables` to settle.
///
/// If several are already settled, the first one in order determines the result. The others
/// continue.
public func race<U: Thenable>(_ thenables: U...) -> Promise<U.T> {
  // As in the original: without thenables, the promise stays pending.
  thenables.isEmpty ? Promise(.pending) : race(thenables)
}

/// Returns a promise that settles like the first of `thenables` to settle.
///
/// If several are already settled, the first one in order determines the result. The others
/// continue. If there are no thenables, the promise is rejected with ``PMKError/badInput``.
public func race<U: Thenable>(_ thenables: [U]) -> Promise<U.T> {
  guard !thenables.isEmpty else { return Promise(error: PMKError.badInput) }
  return Promise(core: .race(thenables.map { $0.attach() }, cancellingLosers: false))
}

/// Returns a guarantee with the value of the first of `guarantees` to be resolved.
public func race<T>(_ guarantees: Guarantee<T>...) -> Guarantee<T> {
  guard !guarantees.isEmpty else { return Guarantee(.pending) }
  return guarantee(Core<T>.race(guarantees.map(\.core), cancellingLosers: false)) { $0.value }
}

/// Returns a promise for the first value; rejections are ignored unless all thenables are rejected.
///
/// If all thenables are rejected, the promise is rejected with ``PMKError/noWinner``. If there are
/// no thenables, it is rejected with ``PMKError/badInput``.
public func race<U: Thenable>(fulfilled thenables: [U]) -> Promise<U.T> {
  guard !thenables.isEmpty else { return Promise(error: PMKError.badInput) }
  return Promise(
    core: Core<U.T>.any(thenables.map { $0.attach() }, cancellingLosers: false)
      .recover(on: .immediate) { error -> Core<U.T> in
        .rejected(UnreportedError(error is AggregateError ? PMKError.noWinner : error))
      })
}
