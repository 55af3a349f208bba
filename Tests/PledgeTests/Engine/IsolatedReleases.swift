/// A closure that is isolated to an actor is released on it, even if it isn't called.
@Suite struct IsolatedReleases {
  /// Records where it is deallocated.
  fileprivate final class Guard: Sendable {
    let places: Recorder<Bool>
    init(_ places: Recorder<Bool>) { self.places = places }
    deinit { places.record(ExecutorProbe.main.isCurrent) }

    @discardableResult func use() -> Int { 1 }

    func useLater() async -> Int {
      await Task.yield()
      return 1
    }
  }

  /// An operator, and a closure for it that retains a guard.
  struct Keeper: Sendable, CustomTestStringConvertible {
    let testDescription: String
    fileprivate let attach: @MainActor @Sendable (Promise<Int>, Guard) -> Promise<Int>

    fileprivate init(
      _ name: String, _ attach: @escaping @MainActor @Sendable (Promise<Int>, Guard) -> Promise<Int>
    ) {
      testDescription = name
      self.attach = attach
    }

    /// Starts work only if the promise to which it is attached is fulfilled.
    fileprivate static func starting(
      _ name: String, _ start: @escaping @MainActor @Sendable (Guard) -> Promise<Int>
    ) -> Keeper {
      Keeper(name) { source, held in source.then { _ in start(held) } }
    }
  }

  /// The closures of operators, each called once and once not called.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  static let keepers: [Keeper] = [
    Keeper("get") { source, held in source.get { _ in held.use() } },
    Keeper("replaceError") { source, held in source.replaceError { _ in held.use() }.promise },
    .starting("Promise") { held in Promise { await held.useLater() } },
    .starting("Guarantee") { held in Guarantee { await held.useLater() }.promise },
    Keeper("asyncMap") { source, held in source.asyncMap { _ in held.use() } },
    Keeper("asyncRecover") { source, held in source.asyncRecover { _ in held.use() } },
    Keeper("asyncFinally") { source, held in source.asyncFinally { held.use() } },
    Keeper("guarantee.asyncMap") { source, held in
      source.replaceError(with: 0).asyncMap { _ in held.use() }.promise
    },
    .starting("retry") { held in
      Promise.retry(.fixed(attempts: 2, delay: .zero)) { .value(held.use()) }
    },
    .starting("retry, asynchronous") { held in
      Promise.retry(.fixed(attempts: 2, delay: .zero)) { @MainActor () async in held.use() }
    },
    .starting("hedged, asynchronous") { held in
      Promise.hedged(delay: .seconds(60)) { @MainActor () async in held.use() }
    },
    .starting("limiter, asynchronous") { held in
      Limiter(1).run { @MainActor () async in held.use() }
    },
    .starting("all, asynchronous") { held in
      Promise<[Int]>.all(1...3, concurrently: 2) { @MainActor (_: Int) async in held.use() }
        .map(on: .immediate) { $0[0] }
    },
    .starting("coalescer, asynchronous") { held in
      RequestCoalescer<Int, Int>().promise(for: 1) { @MainActor () async in held.use() }
    },
    .starting("scope") { held in PromiseScope().run { @MainActor () async in held.use() } },
    Keeper("using") { source, held in
      .using(source, release: { _ in held.use() }) { _ in .value(1) }
    },
    Keeper("onCancel") { source, held in
      let (promise, resolver) = Promise<Int>.withResolvers()
      resolver.onCancel { held.use() }
      source.observe(on: .immediate) { resolver.resolve($0) }
      return promise
    },
  ]

  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  @MainActor @Test(arguments: keepers, [false, true])
  func closuresThatAreKept_areReleasedOnTheMainActor(keeper: Keeper, isUsed: Bool) async throws {
    let places = Recorder<Bool>()
    for _ in 0..<20 {
      let (source, resolver) = Promise<Int>.withResolvers()
      let end = keeper.attach(source, Guard(places))
      DispatchQueue.global().async {
        if isUsed { resolver.fulfill(1) } else { resolver.reject(Boom()) }
      }
      _ = await end.result
    }
    try await waitUntil { places.count == 20 }
    #expect(places.events.allSatisfy { $0 })
  }
}
