import Dispatch
import Pledge
import Testing

struct Boom: Error, Equatable {}

@Suite struct Smoke {
  @Test func chain() async throws {
    let (p, r) = Promise<Int>.withResolvers()
    let q = p.map { $0 + 1 }.then { n in
      let m = n * 2
      return Promise.value("\(m)")
    }
    r.fulfill(4)
    #expect(try await q.value == "10")
  }
  @Test @MainActor func onMain() async throws {
    var count = 0
    let p = Promise.value(3).map { n in
      count += n
      MainActor.assertIsolated()
      return count
    }
    #expect(try await p.value == 3)
  }
  @Test func onActor() async throws {
    actor A {
      var n = 0
      func go() -> Promise<Int> {
        Promise.value(3).map {
          self.n += $0; return self.n
        }.map {
          self.n += $0; return self.n
        }
      }
    }
    #expect(try await A().go().value == 6)
  }
  @Test func loop() async throws {
    let queue = DispatchQueue(label: "loop")
    @Sendable func step(_ n: Int) -> Promise<Int> {
      Promise.value(n).then(on: queue) { n in n == 0 ? .value(42) : step(n - 1) }
    }
    #expect(try await step(200_000).value == 42)
    @Sendable func inline(_ n: Int) -> Promise<Int> {
      Promise.value(n).then(on: .immediate) { n in n == 0 ? .value(42) : inline(n - 1) }
    }
    #expect(try await inline(200_000).value == 42)
  }
  @Test func deepChain() async throws {
    let (p, r) = Promise<Int>.withResolvers()
    var q = p
    for _ in 0..<300_000 { q = q.map(on: .immediate) { $0 + 1 } }
    r.fulfill(0)
    #expect(try await q.value == 300_000)
  }
  @Test func dropped() async throws {
    var q: Promise<Int>
    do {
      let (p, _) = Promise<Int>.withResolvers()
      q = p
      for _ in 0..<100_000 { q = q.map(on: .immediate) { $0 + 1 } }
    }
    await #expect(throws: BrokenPromise.self) { try await q.value }
  }
  @Test func catches() async throws {
    let p = Promise<Int>.rejected(Boom()).map { $0 + 1 }
    var seen: Promise<String> { p.map { "\($0)" }.recover { error in "\(error)" }.promise }
    #expect(try await seen.value == "Boom()")
    let r = p.recover(only: Boom.self) { _ in 5 }
    #expect(try await r.value == 5)
    let s = p.recover(only: Boom()) { 6 }
    #expect(try await s.value == 6)
    await p.catch { _ in }.finally {}.value
  }
  @Test func cancel() async throws {
    let (p, r) = Promise<Int>.withResolvers()
    let (told, tell) = Promise<Void>.withResolvers()
    r.onCancel { tell.fulfill() }
    let a = p.map { $0 + 1 }, b = p.map { $0 + 2 }
    a.cancel()
    await #expect(throws: CancellationError.self) { try await a.value }
    #expect(p.isPending)
    let c = b.map { $0 }
    c.cancel()
    try await told.value
    await #expect(throws: CancellationError.self) { try await c.value }
    await #expect(throws: CancellationError.self) { try await p.value }
  }
  @Test func cancelAdopted() async throws {
    let (p, r) = Promise<Int>.withResolvers()
    let (told, tell) = Promise<Void>.withResolvers()
    r.onCancel { tell.fulfill() }
    let gate = Promise<Void>.withResolvers()
    let q = gate.promise.then(on: .immediate) { p }
    gate.resolver.fulfill()
    q.cancel()
    try await told.value
    await #expect(throws: CancellationError.self) { try await q.value }
  }
  @Test func combinators() async throws {
    let n = try await Promise.all([1, 2, 3].map { Promise.value($0) }).value
    #expect(n == [1, 2, 3])
    let (a, b) = try await Promise.all(Promise.value(1), Promise.value("b")).value
    #expect(a == 1 && b == "b")
    #expect(try await Promise.race(.value(1), .value(2)).value == 1)
    await #expect(throws: PromiseError.emptyInput) { try await Promise<Int>.race([]).value }
    await #expect(throws: AggregateError.self) {
      try await Promise<Int>.any([.rejected(Boom())]).value
    }
  }
  @Test func task() async throws {
    let p = Promise {
      try await Task.sleep(for: .seconds(100)); return 1
    }
    p.cancel()
    await #expect(throws: CancellationError.self) { try await p.value }
  }
}
