import Pledge

/// Work whose cost with a trace is compared with its cost without one.
struct Workload: Sendable {
  let name: String
  /// The number of promises that one call of `run` creates, and of calls in a measurement.
  let promises: Int
  let calls: Int
  let run: @Sendable () async -> Void
  static let links = 100

  static func round() {
    let (promise, resolver) = Promise<Int>.withResolvers()
    let mapped = promise.map(on: .immediate) { $0 + 1 }
    resolver.fulfill(1)
    withExtendedLifetime(mapped) {}
  }

  static let all: [Workload] = [
    Workload(name: "a resolver and `map`, in place", promises: 2, calls: 20_000) { round() },
    Workload(name: "a chain of 100 links, in place", promises: links, calls: 500) {
      let (promise, resolver) = Promise<Int>.withResolvers()
      var chain = promise
      for _ in 0..<links { chain = chain.map(on: .immediate) { $0 + 1 } }
      resolver.fulfill(1)
      withExtendedLifetime(chain) {}
    },
    Workload(name: "a chain of 100 links, on the global queue", promises: links, calls: 500) {
      let (promise, resolver) = Promise<Int>.withResolvers()
      var chain = promise
      for _ in 0..<links { chain = chain.map { $0 + 1 } }
      resolver.fulfill(1)
      _ = await chain.result
    },
    Workload(name: "an asynchronous closure, `then`, and `await`", promises: 3, calls: 5_000) {
      let promise = Promise { await one() }.then { value in .value(value + 1) }
      _ = await promise.result
    },
    Workload(name: "`all` of 10", promises: 21, calls: 2_000) {
      let pairs = (0..<10).map { _ in Promise<Int>.withResolvers() }
      let all = Promise.all(pairs.map(\.promise))
      for pair in pairs { pair.resolver.fulfill(1) }
      withExtendedLifetime(all) {}
    },
  ]

  @Sendable private static func one() async -> Int { 1 }
}
