// TEMPORARY: the former names, until the policies are converted.
extension HandlerTarget {
  @usableFromInline init(immediate: Void) { self = .inPlace }
  @usableFromInline init(programInPlace: Void) { self = .inPlace }
  func keeping<R>(_ c: @escaping @Sendable () throws -> R) -> @Sendable () throws -> R {
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
extension Isolated {
  @usableFromInline func assumingIsolated<Plain>(as type: Plain.Type) -> Plain {
    unsafeBitCast(self, to: Isolated<Plain>.self).plain
  }
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
  ) -> Guarantee<Void> { caught(Placed(f, at: target)) }
  func recoveredWithPromise(
    _ target: HandlerTarget, _ f: @escaping @Sendable (any Error) throws -> Promise<Value>
  ) -> Promise<Value> { recoveredWithPromise(Placed(f, at: target)) }
  func finishedAfter<T: Thenable>(
    _ target: HandlerTarget, _ f: @escaping @Sendable () throws -> T
  ) -> Promise<Value> { finishedAfter(Placed(f, at: target)) }
}
extension Thenable {
  func tapped(
    _ target: HandlerTarget, _ f: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) -> Promise<Value> { tapped(Placed(f, at: target)) }
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
