/// Keys and clocks that use the coalescer while it uses them.
@Suite struct RequestCoalescerReentrancy {
  private let clock = TestClock()

  @Test func removalWhileKeysAreCompared_leavesOneEntryPerKey() async throws {
    let keys = RequestCoalescer<UserKey, Int>()
    let (work, resolver) = Promise<Int>.withResolvers()
    let inner = Recorder<Promise<Int>>()
    let first = keys.promise(for: UserKey(number: 1)) { work }
    let outer = keys.promise(
      for: UserKey(number: 2) {
        keys.removeAll()
        inner.record(keys.promise(for: UserKey(number: 2)) { work })
      }
    ) { work }
    #expect(keys.count == 1)
    #expect(inner.events.count == 1)
    resolver.fulfill(3)
    for promise in [first, outer] + inner.events { #expect(try await promise.value == 3) }
  }

  /// The work's handler requests the same key, in place or elsewhere.
  @Test(arguments: [true, false])
  func handlerThatRequestsItsKey_isRejected_andTheKeyIsFree(isInPlace: Bool) async throws {
    let (requests, executor) = (RequestCoalescer<Int, Int>(), ManualExecutor())
    let (gate, resolver) = Promise<Int>.withResolvers()
    @Sendable func request(_: Int) -> Promise<Int> { requests.promise(for: 1) { .value(-1) } }
    let promise = requests.promise(for: 1) {
      isInPlace ? gate.then(on: .immediate, request) : gate.then(on: executor, request)
    }
    let joined = requests.promise(for: 1) { .value(-1) }
    resolver.fulfill(1)
    executor.runAll()
    try await expectRejection(of: promise, with: PromiseError.returnedItself)
    try await expectRejection(of: joined, with: PromiseError.returnedItself)
    try await expectFulfillment(of: request(0), with: -1)
    #expect(requests.count == 0)
  }

  @Test func workOfTwoKeys_thatWaitsForEachOtherInHandlers_isRejected() async throws {
    let requests = RequestCoalescer<Int, Int>()
    let gates = [Promise<Int>.withResolvers(), Promise<Int>.withResolvers()]
    let promises = [0, 1].map { key in
      requests.promise(for: key) {
        gates[key].promise.then(on: .immediate) { _ in
          requests.promise(for: 1 - key) { .value(-1) }
        }
      }
    }
    for gate in gates { gate.resolver.fulfill(1) }
    for promise in promises {
      try await expectRejection(of: promise, with: PromiseError.returnedItself)
    }
    #expect(requests.count == 0)
  }

  @Test func handlerOfACaller_mayRequestTheKeyAgain() async throws {
    let requests = RequestCoalescer<Int, Int>()
    let (work, resolver) = Promise<Int>.withResolvers()
    let promise = requests.promise(for: 1) { work }.then(on: .immediate) { value in
      requests.promise(for: 1) { .value(value + 1) }
    }
    resolver.fulfill(1)
    try await expectFulfillment(of: promise, with: 2)
  }

  @Test func clockMayUseTheTable() async {
    await #expect(processExitsWith: .success) {
      let clock = TimersByHand()
      let keys = RequestCoalescer<Int, Int>(caching: .init(lifetime: .seconds(1)), clock: clock)
      let (work, resolver) = Promise<Int>.withResolvers()
      let promise = keys.promise(for: 1) { work }
      clock.interrupt { keys.promise(for: 1) { work }.ignoreErrors() }
      resolver.fulfill(3)
      try await expectFulfillment(of: promise, with: 3)
    }
  }

  @Test func staleValue_thatARequestFoundBeforeItWasRefreshed_isNotRefreshedAgain() async throws {
    let cache = RequestCoalescer<UserKey, Int>(
      caching: .init(lifetime: .seconds(10), staleLifetime: .seconds(5)), clock: clock)
    _ = cache.promise(for: UserKey(number: 1)) { () -> Promise<Int> in .value(0) }
    await clock.advance(by: .seconds(12))
    let refreshes = Recorder<Int>()
    @Sendable func refresh(_ number: Int) -> Promise<Int> {
      refreshes.record(number)
      return .value(number)
    }
    let key = UserKey(number: 1) {
      cache.promise(for: UserKey(number: 1)) { refresh(1) }.ignoreErrors()
    }
    try await expectFulfillment(of: cache.promise(for: key) { refresh(2) }, with: 0)
    #expect(refreshes.events == [1])
    #expect(cache.count == 1)
  }

  @Test func keysMayUseTheTable() async throws {
    let keys = RequestCoalescer<UserKey, Int>()
    weak let table = keys
    let look: @Sendable () -> Void = { _ = table?.count }
    for n in 0..<3 {
      let key = UserKey(number: n, onUse: look)
      #expect(try await keys.promise(for: key) { .value(n) }.value == n)
    }
    keys.removeValue(for: UserKey(number: 1, onUse: look))
    #expect(keys.count == 0)
  }
}

/// A key that runs an action whenever it is hashed, compared, or released, or only when it is first
/// compared.
private final class UserKey: Hashable, Sendable {
  let number: Int
  private let onUse: @Sendable () -> Void
  private let onComparison: Mutex<(@Sendable () -> Void)?>

  init(
    number: Int, onFirstComparison action: (@Sendable () -> Void)? = nil,
    onUse: @escaping @Sendable () -> Void = {}
  ) {
    self.number = number
    self.onUse = onUse
    onComparison = Mutex(action)
  }

  deinit { onUse() }

  private func noteComparison() {
    onUse()
    onComparison.withLock { $0.take() }?()
  }

  static func == (first: UserKey, second: UserKey) -> Bool {
    first.noteComparison()
    second.noteComparison()
    return first.number == second.number
  }

  func hash(into hasher: inout Hasher) {
    onUse()
    hasher.combine(1)
  }
}
