import Pledge

/// Returns a promise with the fate of the first of `thenables` to be resolved, rejected or not.
///
/// Among those that are resolved already the first in order wins; the others go on.
public func race<U: Thenable>(_ thenables: U...) -> Promise<U.T> {
  // As in the original: without runners the race has no end.
  thenables.isEmpty ? Promise(.pending) : race(thenables)
}

/// Returns a promise with the fate of the first of `thenables` to be resolved, rejected or not.
///
/// Among those that are resolved already the first in order wins; the others go on. No thenables
/// give a rejection with ``PMKError/badInput``.
public func race<U: Thenable>(_ thenables: [U]) -> Promise<U.T> {
  guard !thenables.isEmpty else { return Promise(error: PMKError.badInput) }
  return Promise(core: .race(thenables.map { $0.attach() }, cancellingLosers: false))
}

/// Returns a guarantee with the value of the first of `guarantees` to be resolved.
public func race<T>(_ guarantees: Guarantee<T>...) -> Guarantee<T> {
  guard !guarantees.isEmpty else { return Guarantee(.pending) }
  return guarantee(Core<T>.race(guarantees.map(\.core), cancellingLosers: false)) { $0.value }
}

/// Returns a promise with the first value; rejections are passed over.
///
/// If all thenables are rejected, so is the result, with ``PMKError/noWinner``. No thenables give a
/// rejection with ``PMKError/badInput``.
public func race<U: Thenable>(fulfilled thenables: [U]) -> Promise<U.T> {
  guard !thenables.isEmpty else { return Promise(error: PMKError.badInput) }
  return Promise(
    core: Core<U.T>.any(thenables.map { $0.attach() }, cancellingLosers: false)
      .recover(on: .immediate) { error -> Core<U.T> in
        .rejected(UnreportedError(error is AggregateError ? PMKError.noWinner : error))
      })
}
