import Pledge

/// Something that isn't `Sendable`, as most classes of a program.
final class Parser { var count = 0 }

struct Page { let parser: Parser }

/// The policies with captures and results that aren't `Sendable`, as a loop by hand accepts them.
func policiesAnywhere() async throws {
  let parser = Parser()
  var attempts = 0
  let page = try await retry(.fixed(attempts: 2, delay: .zero)) {
    attempts += 1
    parser.count += 1
    if attempts == 1 { throw Refused() }
    return Page(parser: parser)
  }
  let limited = try await Limiter(1).perform {
    parser.count += 1
    return page
  }
  let counted = try await CircuitBreaker().perform {
    parser.count += 1
    return limited
  }
  let used = try await withResource(acquire: { counted }, release: { $0.parser.count += 1 }) {
    page in
    if page.parser.count == 0 { throw Refused() }
    return page
  }
  let scoped = await withPromiseScope { _ in used }
  precondition(scoped.parser === parser && parser.count == 5)

  // A result that only the operation has is moved.
  let timed = try await withTimeout(.seconds(60)) { Page(parser: Parser()) }
  let first = await firstToFinish({ Page(parser: Parser()) }, { Page(parser: Parser()) })
  let any = try await firstToSucceed({ throw Refused() }, { Page(parser: Parser()) })
  let inTime = try await withDeadline(.now + .seconds(60)) { Page(parser: Parser()) }
  let onClock = try await withDeadline(SuspendingClock.now + .seconds(60), clock: .suspending) {
    Page(parser: Parser())
  }
  let hedge = try await hedged(delay: .seconds(60)) { Page(parser: Parser()) }
  let pages = try await concurrentMap([1, 2], limit: 2) { _ in Page(parser: Parser()) }
  let all = [timed, first, any, inTime, onClock, hedge] + pages
  precondition(all.allSatisfy { $0.parser.count == 0 })

  // A value that several callers share is sendable; what the operation captures is moved.
  let names = RequestCoalescer<String, String>()
  let reader = Parser()
  let name = try await names.value(for: "a") {
    reader.count += 1
    return "a\(reader.count)"
  }
  precondition(name == "a1")
}

actor Library {
  private let parser = Parser()
  private let counts = RequestCoalescer<Int, Int>()

  func policies() async throws -> Int {
    let page = try await retry(.fixed(attempts: 1)) {
      assertIsolated()
      parser.count += 1
      return Page(parser: parser)
    }
    let limited = try await Limiter(1).perform {
      assertIsolated()
      parser.count += 1
      return page
    }
    try await withTimeout(.seconds(60)) { parser.count += 1 }
    try await withDeadline(.now + .seconds(60)) {
      assertIsolated()
      parser.count += 1
    }
    let count = try await counts.value(for: 1) {
      assertIsolated()
      parser.count += 1
      return parser.count
    }
    precondition(count == 5)
    _ = try await concurrentMap([1, 2], limit: 1) { number in
      assertIsolated()
      parser.count += number
    }
    _ = await firstToFinish({ parser.count += 1 }, { parser.count += 1 })
    _ = try await firstToSucceed({ throw Refused() }, { parser.count += 1 })
    _ = try await hedged(delay: .seconds(60)) { parser.count += 1 }
    return limited.parser.count
  }
}

@MainActor final class Reader {
  private let parser = Parser()
  private let counts = RequestCoalescer<Int, Int>()

  func policies() async throws -> Int {
    let page = try await retry(.fixed(attempts: 1)) {
      MainActor.assertIsolated()
      parser.count += 1
      return Page(parser: parser)
    }
    try await withTimeout(.seconds(60)) {
      MainActor.assertIsolated()
      parser.count += 1
    }
    try await withDeadline(.now + .seconds(60)) {
      MainActor.assertIsolated()
      parser.count += 1
    }
    let shared = try await counts.value(for: 1) {
      MainActor.assertIsolated()
      parser.count += 1
      return parser.count
    }
    let first = try await firstToSucceed(
      { () -> Page in throw Refused() },
      {
        MainActor.assertIsolated()
        parser.count += 1
        return Page(parser: Parser())
      })
    precondition(shared == 4 && first.parser !== parser)
    let count = await withResource(acquire: { parser }, release: { $0.count += 1 }) { $0.count }
    return try await Limiter(1).perform { page.parser.count + count }
  }
}

func policiesWithoutSendable() async throws {
  try await policiesAnywhere()
  let library = try await Library().policies()
  let reader = try await Reader().policies()
  precondition(library >= 10 && reader == 11)
}
