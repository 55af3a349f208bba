/// Timers run none of the program's code on their thread, and need no thread of a pool.
///
/// It runs in processes of its own: these tests use real timers, and block all threads of a pool.
@Suite struct TimersUnderLoad {
  @Test(arguments: situations.keys.sorted()) func noTimerIsDelayed(in situation: String) async {
    await #expect(processExitsWith: .success) { [situation] in try await situations[situation]?() }
  }
}

private let situations: [String: @Sendable () async throws -> Void] = [
  "onCancel after a timeout can wait for a timer": {
    let (promise, resolver) = Promise<Int>.withResolvers()
    let (told, toldResolver) = Promise<Void>.withResolvers()
    resolver.onCancel {
      rest()
      toldResolver.fulfill()
    }
    try await expectRejection(of: promise.timeout(after: .milliseconds(1)), with: TimeoutError.self)
    try await expectFulfillment(of: told)
  },
  "enqueue that blocks delays no timer": {
    let slow = ClosureExecutor { job in
      rest()
      job.run()
    }
    let calls = Recorder<Int>()
    let timer = Promise<Void>.after(.milliseconds(1))
    let handlers = (0..<3).map { n in timer.done(on: slow) { calls.record(n) } }
    for handler in handlers { try await expectFulfillment(of: handler) }
    #expect(calls.events == [0, 1, 2])
  },
  "closures of a retry policy can wait for a timer, after the timeout of an attempt": {
    let calls = Recorder<String>()
    var policy = RetryPolicy(attempts: 2) { _ in
      rest()
      calls.record("delay")
      return .zero
    }
    policy.isRetryable = { _ in
      rest()
      calls.record("isRetryable")
      return true
    }
    policy.attemptTimeout = .milliseconds(1)
    let retried = Promise<Int>.retry(policy) { Promise<Int>.never }
    try await expectRejection(of: retried, with: TimeoutError.self)
    #expect(calls.events == ["isRetryable", "delay"])
  },
  "conformances of the program can wait for a timer": {
    struct Patient: Comparable, Hashable, Sendable {
      let number: Int

      static func < (a: Patient, b: Patient) -> Bool {
        rest()
        return a.number < b.number
      }

      func hash(into hasher: inout Hasher) {
        rest()
        hasher.combine(number)
      }
    }
    let values = [2, 1].map(Patient.init)
    let (start, resolver) = Promise<Void>.withResolvers()
    let promise = start.map(on: .immediate) { values }.delay(.milliseconds(1))
      .map(on: .immediate) { $0.sorted() }
    let guarantee = start.replaceError(with: ()).map(on: .immediate) { values }
      .delay(.milliseconds(1)).map(on: .immediate) { $0.sorted() }
    let keyed = Promise<[Patient: Int]>.all([
      values[0]: start.map(on: .immediate) { 3 }.delay(.milliseconds(1))
    ])
    resolver.fulfill()
    try await expectFulfillment(of: promise.asVoid())
    try await expectFulfillment(of: guarantee.promise.asVoid())
    try await expectFulfillment(of: keyed.asVoid())
  },
  "deinit of a value can wait for a timer": {
    let (told, resolver) = Promise<Void>.withResolvers()
    _ = Promise.value(PatientlyReleased(resolver)).delay(.milliseconds(1))
    try await expectFulfillment(of: told)
  },
  "deinit of a key can wait for a timer": {
    let (told, resolver) = Promise<Void>.withResolvers()
    let requests = RequestCoalescer<PatientlyReleased, Int>()
    requests.promise(for: PatientlyReleased(resolver)) {
      Promise<Int>.never.timeout(after: .milliseconds(1))
    }.ignoreErrors()
    try await expectFulfillment(of: told)
  },
  "monitor can wait for a timer": {
    let limiter = Limiter(1)
    limiter.monitors.add { event in
      if case .running(-1) = event { rest() }
    }
    try await expectFulfillment(
      of: limiter.run { Promise<Void>.after(.milliseconds(1)) })
    try await expectFulfillment(of: Promise<Void>.after(.milliseconds(1)))
  },
  "propagated context can wait for a timer": {
    TaskLocals.propagate(
      capturing: { rest() },
      restoring: { _, work in
        rest()
        work()
      })
    // Longer than the functions wait, so that the handlers exist when the timers fire.
    let promise = Promise<Int>.value(1).delay(.milliseconds(100)).delay(.milliseconds(100))
    try await expectFulfillment(of: promise)
  },
  "clock of the program can wait for a timer": {
    let clock = PatientClock()
    let short = Duration.milliseconds(1)
    let delayed = Promise<Void>.after(short).delay(short, clock: clock)
    let hedged = Promise<Int>.hedged(attempts: 3, delay: .seconds(60), clock: clock) {
      Promise<Int>.never.timeout(after: short)
    }
    let limiter = Limiter(1, rate: Limiter.Rate(9, per: short), clock: clock)
    let limited = (0..<2).map { _ in limiter.run { Promise<Void>.after(short) } }
    let requests = RequestCoalescer<Int, Void>(caching: .init(), clock: clock)
    let requested = requests.promise(for: 1) { Promise<Void>.after(short) }
    try await waitForPromises(delayed, requested)
    try await waitForPromises(limited)
    try await expectRejection(of: hedged, with: TimeoutError.self)
  },
  "report that blocks delays no timer": {
    let (told, resolver) = Promise<Void>.withResolvers()
    PromiseDiagnostics.setUnhandledRejectionHandler { _ in
      rest()
      resolver.fulfill()
    }
    _ = Promise<Int>.never.timeout(after: .milliseconds(1))
    try await expectFulfillment(of: told)
  },
  "timeouts fire while every thread of the global queue waits for them": {
    let never = Promise<Int>.never
    // Another consumer, so that the promise isn't cancelled when the first ones have timed out.
    never.ignoreErrors()
    let waits = (0..<40).map { _ in
      Promise<String>(on: .global) {
        do {
          return "\(try never.timeout(after: .milliseconds(5)).wait())"
        } catch {
          return error is TimeoutError ? "timed out" : "\(error)"
        }
      }
    }
    let results = try await Promise<[String]>.all(waits).value
    #expect(results == Array(repeating: "timed out", count: 40))
  },
  "absurd durations are clamped, on a clock that overflows": {
    let promise = Promise<Void>.after(.seconds(Int64.max), clock: NanosecondClock())
    // The clock has computed the deadline by then.
    try await waitUntil { NanosecondClock.sleepers.count > 0 }
    #expect(promise.isPending)
    promise.cancel()
  },
]

/// Blocks the thread until a timer fires.
private func rest() { try? Promise<Void>.after(.milliseconds(1)).wait() }

/// An object whose `deinit` waits for a timer.
private final class PatientlyReleased: Hashable, Sendable {
  private let told: Resolver<Void>

  init(_ told: Resolver<Void>) { self.told = told }

  deinit {
    rest()
    told.fulfill()
  }

  static func == (a: PatientlyReleased, b: PatientlyReleased) -> Bool { a === b }
  func hash(into hasher: inout Hasher) {}
}

/// A clock that waits for a timer whenever its time is read.
private struct PatientClock: Clock {
  private let base = ContinuousClock()

  var now: ContinuousClock.Instant {
    rest()
    return base.now
  }

  var minimumResolution: Duration { base.minimumResolution }

  func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
    try await base.sleep(until: deadline, tolerance: tolerance)
  }
}

/// A clock with a 64-bit count of nanoseconds, which traps on overflow.
private struct NanosecondClock: Clock {
  struct Instant: InstantProtocol {
    var nanoseconds: Int64

    func advanced(by duration: Duration) -> Instant {
      let (seconds, attoseconds) = duration.components
      return Instant(
        nanoseconds: nanoseconds + seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    func duration(to other: Instant) -> Duration { .nanoseconds(other.nanoseconds - nanoseconds) }

    static func < (a: Instant, b: Instant) -> Bool { a.nanoseconds < b.nanoseconds }
  }

  static let sleepers = Recorder<Instant>()

  var now: Instant { Instant(nanoseconds: 0) }
  var minimumResolution: Duration { .nanoseconds(1) }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    Self.sleepers.record(deadline)
    try await Task.sleep(nanoseconds: .max)
  }
}
