// TEMPORARY: the former names, until the policies are converted.
extension HandlerTarget {
  @usableFromInline init(immediate: Void) { self = .inPlace }
  @usableFromInline init(programInPlace: Void) { self = .inPlace }
  @usableFromInline func keeping<R>(_ c: @escaping @Sendable () throws -> R) -> @Sendable () throws -> R {
    Placed(c, at: self).kept().closure
  }
  func keeping<A, R>(_ c: @escaping @Sendable (A) throws -> R) -> @Sendable (A) throws -> R {
    Placed(c, at: self).kept().closure
  }
  func keeping<A, R>(nonthrowing c: @escaping @Sendable (A) -> R) -> @Sendable (A) -> R {
    guard isIsolation else { return c }
    let keeper = Placed(c, at: self).keeper()
    return { keeper.closure($0) }
  }
}
@usableFromInline package struct Isolated<Closure> {
  let p: ErasedClosure
  @usableFromInline package init<R>(_ c: @escaping @Sendable @isolated(any) () throws -> R) where Closure == @Sendable () throws -> R { p = Placed(c).erased }
  @usableFromInline package init<A, R>(_ c: @escaping @Sendable @isolated(any) (A) throws -> R) where Closure == @Sendable (A) throws -> R { p = Placed(c).erased }
  @usableFromInline package init<A, B, R>(_ c: @escaping @Sendable @isolated(any) (A, B) throws -> R) where Closure == @Sendable (A, B) throws -> R { p = Placed(c).erased }
  @usableFromInline package func assumingIsolated<Plain>(as type: Plain.Type) -> Plain { p.copy(as: Plain.self) }
}
enum SharedThread {
  static func runUserCode(_ work: @escaping @Sendable () -> Void) { work() }
  static func release(_ objects: some Sendable) {}
}
extension Thenable {
  @usableFromInline func mapped<U: Sendable>(
    _ target: HandlerTarget, _ f: @escaping @Sendable (Value) throws -> U
  ) -> Promise<U> { mapped(Placed(f, at: target)) }
  @usableFromInline func chained<U: Sendable>(
    _ target: HandlerTarget, _ f: @escaping @Sendable (Value) throws -> Promise<U>
  ) -> Promise<U> { chained(Placed(f, at: target)) }
}
extension Promise {
  @usableFromInline func caught(
    _ target: HandlerTarget, _ f: @escaping @Sendable (any Error) -> Void
  ) -> Guarantee<Void> { caught(Placed(ErrorAction(f), at: target)) }
  func recoveredWithPromise(
    _ target: HandlerTarget, _ f: @escaping @Sendable (any Error) throws -> Promise<Value>
  ) -> Promise<Value> { recoveredWithPromise(Placed(f, at: target)) }
  func finishedAfter<T: Thenable>(
    _ target: HandlerTarget, _ f: @escaping @Sendable () throws -> T
  ) -> Promise<Value> { finishedAfter(Placed(f, at: target)) }
}
extension Thenable {
  @usableFromInline func tapped(
    _ target: HandlerTarget, _ f: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) -> Promise<Value> { tapped(Placed(ResultAction(f), at: target)) }
}
extension Promise {
  func recoveredWithPromise(
    _ target: HandlerTarget, when wanted: @escaping @Sendable (any Error) -> Bool,
    _ f: @escaping @Sendable (any Error) throws -> Promise<Value>
  ) -> Promise<Value> {
    recovered(Placed({ wanted($0) ? try f($0) : nil }, at: target))
  }
  func recovered(
    _ target: HandlerTarget, when wanted: @escaping @Sendable (any Error) -> Bool = { _ in true },
    _ f: @escaping @Sendable (any Error) throws -> Value
  ) -> Promise<Value> {
    recovered(Placed({ wanted($0) ? .value(try f($0)) : nil }, at: target))
  }
}
