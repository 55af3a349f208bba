import Exploration
import Pledge
import VirtualPlatform

/// Cancellation, dropped resolvers, and promises that cannot be cancelled.
let cancellingPrograms = [
  Program("cancel-told-late") { _ in
    let (promise, resolver) = Promise<Token>.withResolvers()
    let told = Box(0)
    return Scenario([
      { promise.cancel() },
      {
        let token = Token()
        resolver.onCancel { withExtendedLifetime(token) { told.value += 1 } }
      },
      { resolver.fulfill(Token()) },
    ]) {
      expect(
        (told.value <= 1, "told \(told.value) times"),
        (
          promise.state != "cancelled" || told.value == 1,
          "cancelled, but the producer was not told"
        ))
    }
  },
  Program("cancel-running") { notes in
    let (source, resolver) = Promise<Int>.withResolvers()
    let runs = Box(0)
    let promise = source.map(on: Queues.a) { value in
      runs.value += 1
      return value
    }
    let last = promise.map(on: Queues.a) { $0 }
    last.note("last", in: notes)
    return Scenario([{ resolver.fulfill(1) }, { last.cancel() }]) {
      expect((runs.value <= 1, "ran \(runs.value) times"), notes.agree(["last"], with: last.state))
    }
  },
  Program("cancel-finally") { _ in
    let (source, resolver) = Promise<Token>.withResolvers()
    let runs = Box(0)
    let token = Token()
    let promise = source.finally(on: .immediate) { withExtendedLifetime(token) { runs.value += 1 } }
    return Scenario([{ promise.cancel() }, { resolver.fulfill(Token()) }]) {
      expect(
        (promise.state != "pending", "pending"),
        (runs.value == 1, "`finally` ran \(runs.value) times"))
    }
  },
  Program("uncancellable-and-cancel") { notes in
    let (source, resolver) = Promise<Token>.withResolvers()
    let other = source.counted()
    other.note("other", in: notes)
    return Scenario([{ source.uncancellable().cancel() }, { other.cancel() }]) {
      withExtendedLifetime(resolver) {}
      return expect(other.isOne(of: "cancelled"))
    }
  },
  Program("cancel-dropped-job") { notes in
    let (source, resolver) = Promise<Token>.withResolvers()
    let executor = SlowExecutor()
    let promise = source.map(on: executor) { $0 }
    promise.note("end", in: notes)
    return Scenario([{ resolver.fulfill(Token()) }, { promise.cancel() }, { executor.dropAll() }]) {
      executor.dropAll()
      return expect(
        promise.isOne(of: "cancelled", "broken"), notes.agree(["end"], with: promise.state))
    }
  },
]

/// Stores jobs until `dropAll` is called.
private final class SlowExecutor: PromiseExecutor {
  private let jobs = Mutex<[PromiseJob]>([])
  func enqueue(_ job: PromiseJob) { jobs.withLock { $0.append(job) } }
  func dropAll() {
    let dropped = jobs.withLock { jobs in
      defer { jobs = [] }
      return jobs
    }
    withExtendedLifetime(dropped) {}
  }
}
