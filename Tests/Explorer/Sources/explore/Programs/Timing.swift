import Exploration
@_spi(DropIns) import Pledge
import VirtualPlatform

let timingPrograms = [
  Program("timeout-settle") { notes in
    let (promise, resolver) = Promise<Token>.withResolvers()
    let limited = promise.timeout(after: .seconds(1))
    limited.note("end", in: notes)
    return Scenario([{ resolver.fulfill(Token()) }, { limited.note("more", in: notes) }]) {
      expect(limited.isOne(of: "value", "late"), notes.agree(["end", "more"], with: limited.state))
    }
  },
  Program("timeout-cancel") { notes in
    let (promise, resolver) = Promise<Token>.withResolvers()
    let told = Box(0)
    resolver.onCancel { told.value += 1 }
    let limited = promise.timeout(after: .seconds(1))
    limited.note("end", in: notes)
    return Scenario([{ limited.cancel() }, { promise.cancel() }]) {
      withExtendedLifetime(resolver) {}
      return expect(
        (told.value == 1, "told \(told.value) times"), promise.isOne(of: "cancelled"),
        limited.isOne(of: "cancelled", "late"),
        notes.agree(["end"], with: limited.state))
    }
  },
  Program("after-order") { notes in
    return Scenario([
      {
        Promise<Void>.after(.seconds(2)).note("second", on: Queues.a, in: notes)
        Promise<Void>.after(.seconds(1)).note("first", on: Queues.a, in: notes)
      },
      { Promise<Void>.after(.seconds(1)).cancel() },
    ]) { expect(notes.hasEachOnce("first", "second")) }
  },
  Program("after-blocked") { notes in
    // A handler in place of one timer returns only when another timer has fired. That other timer
    // comes first, because the handler of a timer that has fired already runs inside `observe`.
    let hasFired = DispatchSemaphore(value: 0)
    return Scenario([
      {
        Promise<Void>.after(.seconds(2)).observe(on: .immediate) { _ in
          notes.add("second value")
          hasFired.signal()
        }
        Promise<Void>.after(.seconds(1)).observe(on: .immediate) { _ in
          hasFired.wait()
          notes.add("first value")
        }
      }
    ]) { expect(notes.hasEachOnce("first", "second")) }
  },
  Program("limiter-rate") { notes in
    let limiter = Limiter(2, rate: .init(1, per: .seconds(1)))
    return Scenario([
      { limiter.run { Promise.value(1) }.note("first", in: notes) },
      { limiter.run { Promise.value(1) }.note("second", in: notes) },
    ]) {
      expect(
        notes.agree(["first", "second"], with: "value"),
        (limiter.runningCount == 0, "\(limiter.runningCount) run"))
    }
  },
  Program("hedge") { notes in
    let (work, resolver) = Promise<Token>.withResolvers()
    let result = Promise<Token>.hedged(attempts: 2, delay: .seconds(1)) { work.counted() }
    result.note("end", in: notes)
    return Scenario([{ resolver.fulfill(Token()) }, { result.note("more", in: notes) }]) {
      expect(notes.agree(["end", "more"], with: "value"))
    }
  },
  Program("retry-cancel") { notes in
    let attempts = Box(0)
    let promise = Promise<Int>.retry(.fixed(attempts: 2, delay: .seconds(1))) {
      attempts.value += 1
      return attempts.value == 1 ? Promise<Int>.rejected(Failed()) : .value(1)
    }
    promise.note("end", in: notes)
    return Scenario([{ promise.cancel() }, { promise.note("more", in: notes) }]) {
      expect(
        (attempts.value <= 2, "\(attempts.value) attempts"),
        promise.isOne(of: "value", "cancelled"),
        notes.agree(["end", "more"], with: promise.state))
    }
  },
  Program("wait-settle") { notes in
    let (promise, resolver) = Promise<Token>.withResolvers()
    let last = promise.map(on: .global) { $0 }
    return Scenario([{ notes.add("waited \(waiting(last))") }, { resolver.fulfill(Token()) }]) {
      expect(notes.agree(["waited"], with: "value"))
    }
  },
  Program("wait-adopted-cancel") { notes in
    let (inner, resolver) = Promise<Token>.withResolvers()
    inner.note("inner", in: notes)
    let outer = Promise.value(1).then(on: .immediate) { _ in inner }
    return Scenario([
      { notes.add("waited \(waiting(outer))") }, { outer.cancel() },
      { resolver.fulfill(Token()) },
    ]) { expect(notes.agree(["waited"], with: outer.state), notes.agree(["inner"], with: "value")) }
  },
  Program("wait-deferred") { notes in
    // The handlers nest so deep that the one that `wait()` needs can't run before the stack unwinds.
    let (promise, resolver) = Promise<Int>.withResolvers()
    @Sendable func nest(_ depth: Int) {
      promise.observe(on: .immediate) { _ in
        if depth > 0 { return nest(depth - 1) }
        notes.add("waited \(waiting(promise.map(on: .immediate) { $0 }))")
      }
    }
    nest(23)
    return Scenario([{ resolver.fulfill(1) }]) { expect(notes.hears("waited", "value")) }
  },
  Program("wait-sibling") { notes in
    // The handler in place waits for one that its own thread is to run after it; another thread cancels
    // a third one, and attaches a fourth.
    let (promise, resolver) = Promise<Int>.withResolvers()
    let later = Mutex<Promise<Int>?>(nil)
    promise.observe(on: .immediate) { _ in
      guard let awaited = later.withLock({ $0 }) else { return notes.add("waited nothing") }
      notes.add("waited \(waiting(awaited))")
    }
    let third = promise.map(on: .immediate) { $0 }
    later.withLock { $0 = promise.map(on: .immediate) { $0 } }
    return Scenario([
      { resolver.fulfill(1) },
      {
        third.cancel()
        promise.note("other", in: notes)
      },
    ]) {
      later.withLock { $0 = nil }
      return expect(notes.agree(["waited", "other"], with: "value"))
    }
  },
  Program("wait-on-main") { notes in
    let (promise, resolver) = Promise<Int>.withResolvers()
    let last = promise.map(on: DispatchQueue.main) { $0 }
    Promise.value(1).observe(on: DispatchQueue.main) { _ in notes.add("waited \(waiting(last))") }
    return Scenario([{ resolver.fulfill(1) }]) {
      expect(notes.hears("waited", "value", "deadlock"))
    }
  },
]

/// Waits for a promise, and returns its result as text.
func waiting<Value>(_ promise: Promise<Value>) -> String { describe(Result { try promise.wait() }) }
