import Exploration
@_spi(DropIns) import Pledge
import VirtualPlatform

/// Limiters, coalescers, scopes, `LatestOnly`, and `using`.
let policyPrograms = [
  Program("limiter") { notes in
    let limiter = Limiter(1)
    let (work, resolver) = Promise<Token>.withResolvers()
    let running = Box(0)
    @Sendable func submit(_ name: String) {
      limiter.run { () -> Promise<Token> in
        running.value += 1
        if running.value > 1 { notes.add("crowd") }
        return work.map(on: .immediate) { value in
          running.value -= 1
          return value
        }
      }.note(name, in: notes)
    }
    return Scenario([{ submit("first") }, { submit("second") }, { resolver.fulfill(Token()) }]) {
      expect(
        notes.agree(["first", "second"], with: "value"),
        (!notes.lines.contains("crowd"), "two ran at a time"),
        limiter.isUnused)
    }
  },
  Program("limiter-cancel") { notes in
    let limiter = Limiter(1)
    let (work, resolver) = Promise<Token>.withResolvers()
    let first = limiter.run { work }
    let second = limiter.run { Promise.value(1) }
    first.note("first", in: notes)
    second.note("second", in: notes)
    limiter.idle().note("idle", in: notes)
    return Scenario([{ first.cancel() }, { second.cancel() }, { resolver.fulfill(Token()) }]) {
      expect(
        notes.agree(["first"], with: first.state), notes.agree(["second"], with: second.state),
        notes.hears("idle", "value"), limiter.isUnused)
    }
  },
  Program("limiter-abandoned") { notes in
    let limiter = Limiter(1)
    let (work, resolver) = Promise<Token>.withResolvers()
    _ = limiter.run { work }
    let second = limiter.run { Promise.value(1) }
    return Scenario([{ resolver.abandon() }, { second.note("second", in: notes) }]) {
      expect(
        notes.agree(["second"], with: "value"),
        (limiter.runningCount == 0, "\(limiter.runningCount) run"))
    }
  },
  Program("limiter-clear") { notes in
    let limiter = Limiter(1)
    let (work, resolver) = Promise<Token>.withResolvers()
    let first = limiter.run { work }
    let second = limiter.run { Promise.value(1) }
    first.note("first", in: notes)
    second.note("second", in: notes)
    return Scenario([
      { limiter.clear() }, { resolver.fulfill(Token()) },
      {
        limiter.pause()
        limiter.resume()
      },
    ]) {
      expect(
        notes.agree(["first"], with: "value"), second.isOne(of: "value", "cancelled"),
        notes.agree(["second"], with: second.state), limiter.isUnused)
    }
  },
  Program("limiter-priority") { notes in
    let limiter = Limiter(1)
    let (work, resolver) = Promise<Token>.withResolvers()
    let starts = Notes()
    limiter.run { work }.note("first", in: notes)
    limiter.run { () -> Promise<Int> in
      starts.add("low")
      return .value(1)
    }.note("low", in: notes)
    let high = limiter.run(priority: 1) { () -> Promise<Int> in
      starts.add("high")
      return .value(1)
    }
    high.note("high", in: notes)
    return Scenario([{ resolver.fulfill(Token()) }, { high.cancel() }]) {
      expect(
        notes.agree(["first", "low"], with: "value"),
        notes.agree(["high"], with: high.state),
        (
          starts.lines == ["high", "low"] || high.state == "cancelled" && starts.lines == ["low"],
          "out of order: \(starts.text)"
        ),
        (limiter.runningCount == 0, "\(limiter.runningCount) run"))
    }
  },
  Program("coalescer") { notes in
    let shared = RequestCoalescer<Int, Token>()
    let (work, resolver) = Promise<Token>.withResolvers()
    @Sendable func ask(_ name: String) {
      shared.promise(for: 1) { work.counted() }.note(name, in: notes)
    }
    return Scenario([{ ask("first") }, { ask("second") }, { resolver.fulfill(Token()) }]) {
      expect(
        notes.agree(["first", "second"], with: "value"),
        (shared.count == 0, "\(shared.count) are in flight"))
    }
  },
  Program("coalescer-cancel") { notes in
    let shared = RequestCoalescer<Int, Token>()
    let (work, resolver) = Promise<Token>.withResolvers()
    let first = shared.promise(for: 1) { work }
    first.note("first", in: notes)
    return Scenario([
      { first.cancel() },
      { shared.promise(for: 1) { Promise.value(Token()) }.note("second", in: notes) },
    ]) {
      // The second one has either joined, which prevents the cancellation, or started new work.
      resolver.fulfill(Token())
      return expect(
        notes.agree(["first"], with: "cancelled"), notes.agree(["second"], with: "value"),
        (shared.count == 0, "\(shared.count) are in flight"))
    }
  },
  Program("coalescer-key") { notes in
    let shared = RequestCoalescer<CuriousKey, Token>()
    let key = CuriousKey { [weak shared] in shared?.count ?? 0 }
    let (work, resolver) = Promise<Token>.withResolvers()
    @Sendable func ask(_ name: String) {
      shared.promise(for: key) { work.counted() }.note(name, in: notes)
    }
    return Scenario([{ ask("first") }, { ask("second") }, { resolver.fulfill(Token()) }]) {
      expect(notes.agree(["first", "second"], with: "value"))
    }
  },
  Program("coalescer-keeps") { notes in
    let shared = RequestCoalescer<Int, Token>(caching: .init(capacity: 1))
    let starts = Box(0)
    let (work, resolver) = Promise<Token>.withResolvers()
    @Sendable func ask(_ name: String) {
      shared.promise(for: 1) {
        starts.value += 1
        return work.counted()
      }.note(name, in: notes)
    }
    return Scenario([{ ask("first") }, { ask("second") }, { resolver.fulfill(Token()) }]) {
      defer { shared.removeAll() }
      return expect(
        notes.agree(["first", "second"], with: "value"),
        (starts.value == 1, "started \(starts.value) times"),
        (shared.count == 1, "\(shared.count) values are kept"))
    }
  },
  Program("coalescer-lead") { _ in
    let scope = PromiseScope()
    let shared = RequestCoalescer<Int, Token>()
    let (gate, open) = Promise<Void>.withResolvers()
    let running = Box(0)
    let atTheEnd = Box(-1)
    scope.run {
      try await shared.value(for: 1) {
        running.value += 1
        // Ignores cancellation.
        _ = await Task.detached { await gate.result }.value
        running.value -= 1
        return Token()
      }
    }.ignoreErrors()
    return Scenario([
      { scope.close().done(on: .immediate) { atTheEnd.value = running.value } },
      { open.fulfill() },
    ]) {
      // If the scope closed before the work started, it must not start, because no caller is left.
      expect(
        (atTheEnd.value == 0 && running.value == 0, "\(atTheEnd.value) outlast the scope"),
        (shared.count == 0, "\(shared.count) are in flight"))
    }
  },
  Program("scope-cancel") { notes in
    let scope = PromiseScope()
    let (promise, resolver) = Promise<Token>.withResolvers()
    let bound = promise.bound(to: scope)
    bound.note("bound", in: notes)
    return Scenario([{ scope.cancelAll() }, { resolver.fulfill(Token()) }]) {
      expect(
        bound.isOne(of: "value", "cancelled"), notes.agree(["bound"], with: bound.state),
        (scope.pendingCount == 0, "\(scope.pendingCount) are bound"))
    }
  },
  Program("latest-two") { notes in
    let latest = LatestOnly<Token>()
    let (work, resolver) = Promise<Token>.withResolvers()
    return Scenario([
      { latest.run { work.counted() }.note("first", in: notes) },
      { latest.run { work.counted() }.note("second", in: notes) },
      { resolver.fulfill(Token()) },
    ]) {
      expect(
        notes.hears("first", "value", "cancelled"), notes.hears("second", "value", "cancelled"))
    }
  },
  Program("using-cancel") { notes in
    let (resource, resolver) = Promise<Int>.withResolvers()
    let acquired = Box(0)
    let released = Box(0)
    let acquisition = resource.map(on: .immediate) { value in
      acquired.value += 1
      return value
    }
    let result = Promise<Int>.using(acquisition, release: { _ in released.value += 1 }) {
      Promise.value($0)
    }
    result.note("end", in: notes)
    return Scenario([{ resolver.fulfill(1) }, { result.cancel() }]) {
      expect(
        (
          acquired.value == released.value,
          "acquired \(acquired.value) times, released \(released.value) times"
        ),
        notes.agree(["end"], with: result.state))
    }
  },
]

extension Limiter {
  /// Whether nothing runs or waits, and the finding if not.
  fileprivate var isUnused: (Bool, String) {
    (runningCount == 0 && waitingCount == 0, "\(runningCount) run, \(waitingCount) wait")
  }
}

/// A key whose comparison accesses the table that is being searched.
private struct CuriousKey: Hashable {
  let ask: @Sendable () -> Int
  static func == (first: Self, second: Self) -> Bool { first.ask() >= 0 }
  func hash(into hasher: inout Hasher) {}
}
