import Pledge

/// Waits for all `guarantees`.
public func when(_ guarantees: Guarantee<Void>...) -> Guarantee<Void> {
  when(guarantees: guarantees)
}

/// Waits for all `guarantees`, and returns a guarantee for their values in order.
public func when<T>(_ guarantees: Guarantee<T>...) -> Guarantee<[T]> {
  when(guarantees: guarantees)
}

/// Waits for all `guarantees`.
public func when(guarantees: [Guarantee<Void>]) -> Guarantee<Void> { all(guarantees) { _ in } }

/// Waits for all `guarantees`, and returns a guarantee for their values in order.
public func when<T>(guarantees: [Guarantee<T>]) -> Guarantee<[T]> {
  all(guarantees) { $0.map(\.value) }
}

/// Waits for two guarantees.
public func when<U, V>(guarantees gu: Guarantee<U>, _ gv: Guarantee<V>) -> Guarantee<(U, V)> {
  WhenProgress.count(gu.core, gv.core)
  return guarantee(Pledge.Promise.all(gu.core, gv.core)) { ($0.0.value, $0.1.value) }
}

/// Waits for three guarantees.
public func when<U, V, W>(
  guarantees gu: Guarantee<U>, _ gv: Guarantee<V>, _ gw: Guarantee<W>
) -> Guarantee<(U, V, W)> {
  WhenProgress.count(gu.core, gv.core, gw.core)
  return guarantee(Pledge.Promise.all(gu.core, gv.core, gw.core)) {
    ($0.0.value, $0.1.value, $0.2.value)
  }
}

/// Waits for four guarantees.
public func when<U, V, W, X>(
  guarantees gu: Guarantee<U>, _ gv: Guarantee<V>, _ gw: Guarantee<W>, _ gx: Guarantee<X>
) -> Guarantee<(U, V, W, X)> {
  WhenProgress.count(gu.core, gv.core, gw.core, gx.core)
  return guarantee(Pledge.Promise.all(gu.core, gv.core, gw.core, gx.core)) {
    ($0.0.value, $0.1.value, $0.2.value, $0.3.value)
  }
}

/// Waits for five guarantees.
public func when<U, V, W, X, Y>(
  guarantees gu: Guarantee<U>, _ gv: Guarantee<V>, _ gw: Guarantee<W>, _ gx: Guarantee<X>,
  _ gy: Guarantee<Y>
) -> Guarantee<(U, V, W, X, Y)> {
  WhenProgress.count(gu.core, gv.core, gw.core, gx.core, gy.core)
  return guarantee(Pledge.Promise.all(gu.core, gv.core, gw.core, gx.core, gy.core)) {
    ($0.0.value, $0.1.value, $0.2.value, $0.3.value, $0.4.value)
  }
}

private func all<T, U>(
  _ guarantees: [Guarantee<T>], _ transform: @escaping @Sendable ([Boxed<T>]) -> U
) -> Guarantee<U> {
  if guarantees.isEmpty { return .value(transform([])) }
  let inputs = guarantees.map(\.core)
  WhenProgress.count(inputs)
  return guarantee(Pledge.Promise.all(inputs), transform)
}
