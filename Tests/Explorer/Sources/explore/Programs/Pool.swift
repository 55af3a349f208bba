import Exploration
import Pledge
import VirtualPlatform

/// A pool with one or two workers: urgent work that keeps it busy, and waits that block it.
let poolPrograms = [
  Program("urgent-actor") { _ in urgentHandlerOnAnActor(blocksAnother: false) },
  Program("urgent-actor-blocked") { _ in urgentHandlerOnAnActor(blocksAnother: true) },
  Program("urgent-actor-rest") { notes in
    // More handlers than one turn runs.
    let (source, resolver) = Promise<Int>.withResolvers()
    let place = Place()
    var last = source
    for _ in 0..<130 { last = last.map(on: .actor(place)) { $0 + 1 } }
    last.note("urgent", in: notes)
    return Scenario(workers: 1, [{ keepBusy(until: "urgent", in: notes) { resolver.fulfill(1) } }])
    { expect(notes.hasEachOnce("urgent")) }
  },
  Program("urgent-handler") { notes in
    // A handler that is a task has the priority of what settles its promise.
    let (promise, resolver) = Promise<Token>.withResolvers()
    promise.asyncMap { $0 }.note("urgent", in: notes)
    return Scenario(
      workers: 1, [{ keepBusy(until: "urgent", in: notes) { resolver.fulfill(Token()) } }]
    ) { expect(notes.hasEachOnce("urgent")) }
  },
  Program("urgent-limiter") { notes in
    // The task of an operation that has waited for its place has the priority of its caller.
    let (first, resolver) = Promise<Token>.withResolvers()
    let limiter = Limiter(1)
    limiter.run(on: .immediate) { first }.note("first", in: notes)
    return Scenario(
      workers: 1,
      [
        {
          keepBusy(until: "urgent", in: notes) {
            limiter.run { () async -> Token in Token() }.note("urgent", in: notes)
            resolver.fulfill(Token())
          }
        }
      ]
    ) {
      expect(
        notes.hasEachOnce("first", "urgent"),
        (limiter.runningCount == 0, "\(limiter.runningCount) run"))
    }
  },
  Program("urgent-release") { notes in
    // What runs in a task of its own, so that cancellation doesn't reach it, has the priority of its
    // caller.
    return Scenario(
      workers: 1,
      [
        {
          keepBusy(until: "urgent", in: notes) {
            Promise { await withResource(acquire: { Token() }, release: { _ in }) { $0 } }
              .note("urgent", in: notes)
          }
        }
      ]
    ) { expect(notes.hasEachOnce("urgent")) }
  },
  Program("pool-wait-actors") { notes in
    // Handlers of as many actors as there are workers wait for a task. In a task, a wait throws, or
    // the task that they wait for could never start.
    let (source, resolver) = Promise<Int>.withResolvers()
    let (answer, answerResolver) = Promise<Token>.withResolvers()
    let places = [Place(), Place()]
    for (index, place) in places.enumerated() {
      source.observe(on: .actor(place)) { _ in notes.add("\(index) \(waiting(answer))") }
    }
    return Scenario(
      workers: 2,
      [{ resolver.fulfill(1) }, { Task.detached { answerResolver.fulfill(Token()) } }]
    ) { expect(notes.hears("0", "value", "deadlock"), notes.hears("1", "value", "deadlock")) }
  },
  Program("pool-wait-timer") { notes in
    // Timers fire while all workers of the pool wait for them.
    return Scenario(
      workers: 1,
      [
        { Queues.wide.async { notes.add("first \(waiting(Promise<Void>.after(.seconds(1))))") } },
        { Queues.wide.async { notes.add("second \(waiting(Promise<Void>.after(.seconds(1))))") } },
      ]
    ) { expect(notes.agree(["first", "second"], with: "value")) }
  },
  Program("pool-loop-wait") { notes in
    // An event of a loop that isn't a turn waits for a handler on the loop.
    let loop = EventLoop()
    let executor = TurnExecutor(name: "loop", isCurrent: { Queues.a.isCurrent }) { loop.add($0) }
    let (source, resolver) = Promise<Int>.withResolvers()
    let last = source.map(on: executor) { $0 }
    loop.add { notes.add("waited \(waiting(last))") }
    return Scenario([
      { Queues.a.async { loop.run { !last.isPending && !notes.lines.isEmpty } } },
      { resolver.fulfill(1) },
    ]) { expect(notes.hears("waited", "value", "deadlock")) }
  },
]

// MARK: - Urgent work

/// Starts urgent work that keeps a worker busy until `notes` has a line that begins with `name`.
///
/// It begins with `work`. It ends after a few jobs, and says so: no work is more urgent, so what is
/// as urgent has run by then.
private func keepBusy(
  until name: String, in notes: Notes, _ work: @escaping @Sendable () -> Void
) {
  // Not `Task.yield()`, whose jobs the runtime doesn't pass to the explorer.
  @Sendable func startJob(_ number: Int) {
    Task.detached(priority: .high) {
      if !notes.heard(by: name).isEmpty { return }
      if number < 8 { startJob(number + 1) } else { notes.add("starved") }
    }
  }
  Task.detached(priority: .high) {
    work()
    startJob(0)
  }
}

private func urgentHandlerOnAnActor(blocksAnother: Bool) -> Scenario {
  // A thread without a priority requests a turn of the actor, which can't begin while the pool is
  // busy. The urgent handler must not wait for that turn. Another worker can be blocked until that
  // handler has run.
  let (low, lowResolver) = Promise<Token>.withResolvers()
  let (urgent, urgentResolver) = Promise<Token>.withResolvers()
  let notes = Notes()
  let place = Place()
  let hasRun = DispatchSemaphore(value: 0)
  low.note("low", on: .actor(place), in: notes)
  urgent.note("urgent", on: .actor(place), in: notes)
  urgent.observe(on: .actor(place)) { _ in hasRun.signal() }
  return Scenario(
    workers: blocksAnother ? 2 : 1,
    [
      { lowResolver.fulfill(Token()) },
      {
        keepBusy(until: "urgent", in: notes) {
          if blocksAnother { Queues.wide.async { hasRun.wait() } }
          urgentResolver.fulfill(Token())
        }
      },
    ]
  ) { expect(notes.hasEachOnce("low", "urgent")) }
}

// MARK: - Programs that are wrong on purpose

let poolSelfTests = [
  Program(
    "self-pool",
    mustFind: "deadlock: block 1 of queue wide waits for a semaphore,"
      + " block 2 of queue wide waits for a worker"
  ) { _ in
    Scenario(
      workers: 1,
      [
        {
          let runs = DispatchSemaphore(value: 0)
          Queues.wide.async {
            Queues.wide.async { runs.signal() }
            runs.wait()
          }
        }
      ]
    ) { nil }
  },
  Program("self-starved", mustFind: "starved") { notes in
    return Scenario(
      workers: 1,
      [{ keepBusy(until: "low", in: notes) { Task(priority: .low) { notes.add("low") } } }]
    ) { notes.lines.first }
  },
]
