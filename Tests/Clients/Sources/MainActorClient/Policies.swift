import Pledge

/// It has no attributes: a class of the main actor that isn't `Sendable` elsewhere.
final class Parser { var count = 0 }

nonisolated final class Plain { var count = 0 }

/// The policies with captures and results that aren't `Sendable`, in a module of the main actor.
final class Reading {
  let parser = Parser()
  let plain = Plain()
  let limiter = Limiter(2)
  let counts = RequestCoalescer<Int, Int>()

  func load() async throws -> Plain {
    MainActor.assertIsolated()
    parser.count += 1
    return plain
  }

  func policies() async throws {
    let retried = try await retry(.fixed(attempts: 2, delay: .zero)) {
      MainActor.assertIsolated()
      let plain = try await load()
      if parser.count == 1 { throw Refused() }
      return plain
    }
    let limited = try await limiter.perform { try await load() }
    let broken = try await CircuitBreaker().perform { try await load() }
    let used = try await withResource(acquire: load, release: { $0.count += 1 }) { plain in
      MainActor.assertIsolated()
      return plain
    }
    precondition(retried === limited && limited === broken && broken === used && used.count == 1)
    let scoped = await withPromiseScope { scope in
      MainActor.assertIsolated()
      scope.run { _ = try await self.load() }
      return plain
    }
    precondition(scoped === plain)

    // A result that only the operation has is moved.
    let timed = try await withTimeout(.seconds(60)) {
      MainActor.assertIsolated()
      parser.count += 1
      return Plain()
    }
    let inTime = try await withDeadline(.now + .seconds(60)) {
      MainActor.assertIsolated()
      parser.count += 1
      return Plain()
    }

    // Several statements without a value, whose error doesn't matter.
    let before = parser.count
    try? await withTimeout(.seconds(60)) {
      MainActor.assertIsolated()
      parser.count += 1
      _ = try await load()
    }
    try? await withDeadline(.now + .seconds(60)) {
      parser.count += 1
      _ = try await load()
    }
    precondition(parser.count == before + 4)

    let first = await firstToFinish({ Plain() }, { Plain() })
    let successful = try await firstToSucceed(
      { () -> Plain in throw Refused() },
      {
        MainActor.assertIsolated()
        parser.count += 1
        return Plain()
      })
    let hedge = try await hedged(delay: .seconds(60)) {
      MainActor.assertIsolated()
      return Plain()
    }
    let mapped = try await concurrentMap([1, 2], limit: 2) { number in
      MainActor.assertIsolated()
      parser.count += number
      return Plain()
    }
    precondition(([timed, inTime, first, successful, hedge] + mapped).allSatisfy { $0.count == 0 })

    for try await (_, result) in results(of: [1], limit: 1, { [self] in parser.count += $0 }) {
      try result.get()
    }

    let count = try await counts.value(for: 1) {
      MainActor.assertIsolated()
      return parser.count
    }
    precondition(count == parser.count)
  }
}
