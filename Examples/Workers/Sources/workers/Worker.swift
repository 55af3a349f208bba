import Pledge
import Synchronization

/// Takes jobs from the queue and downloads their files, until it is stopped.
///
/// It knows the queue alone, and no other worker. Each lane performs one job at a time. One heartbeat
/// renews the leases of all lanes; a job whose lease is lost is cancelled, since another worker can have it.
final class Worker: Sendable {
  private let queue: JobQueue
  private let bell: Bell
  private let clock: any Clock<Duration>
  private let download: @Sendable (Job) -> Promise<Int>
  private let running = Mutex<[Job: Promise<Int>]>([:])
  private let (stopped, stopping) = Promise<Void>.withResolvers()

  init(
    _ queue: JobQueue, bell: Bell, clock: any Clock<Duration> = ContinuousClock(),
    download: @escaping @Sendable (Job) -> Promise<Int>
  ) {
    self.queue = queue
    self.bell = bell
    self.clock = clock
    self.download = download
  }

  /// Performs jobs, at most `count` at the same time, until the worker is stopped.
  func run(concurrently count: Int) -> Promise<Void> {
    let lanes = Promise.all((0..<count).map { _ in performJobs() }).asVoid()
    return Promise.race(lanes, renewLeases())
  }

  /// Takes no more jobs; ``run(concurrently:)`` ends with those that are running.
  func stop() { stopping.fulfill() }

  private func performJobs() -> Promise<Void> {
    guard stopping.isPending else { return Promise() }
    // Before the query, because a notification can arrive before its result.
    let rung = bell.next
    return queue.take().timeout(after: patience, clock: clock)
      .replaceError(only: TimeoutError.self) { _ in nil }
      .then { job in
        if let job { return self.perform(job) }
        // Jobs can also become ready when a delay or a lease ends, without a notification.
        return Promise.race(
          rung, .after(.seconds(1), clock: self.clock), self.stopped.uncancellable())
      }
      .then { self.performJobs() }
  }

  private func perform(_ job: Job) -> Promise<Void> {
    let download = download(job)
    running.withLock { $0[job] = download }
    return download.mapResult { $0 }
      .then { result in
        switch result {
        case .success(let bytes): return self.queue.finish(job, bytes: bytes)
        // The lease is lost, and the job isn't this worker's anymore.
        case .failure(is CancellationError): return Promise()
        case .failure(let error): return self.queue.fail(job, error)
        }
      }
      .finally { self.running.withLock { $0[job] = nil } }
  }

  /// The time limit of a query that takes or renews leases.
  ///
  /// With the pause between renewals, it leaves a third of a lease: the worker ends a job before another
  /// one can take it, even if it can't reach the database.
  private var patience: Duration { queue.lease / 3 }

  private func renewLeases() -> Promise<Void> {
    Promise.after(queue.lease / 3, clock: clock)
      .then {
        let jobs = self.running.withLock { Array($0.keys) }
        return self.queue.renew(jobs).timeout(after: self.patience, clock: self.clock)
          .replaceError(only: TimeoutError.self) { _ in jobs }
      }
      .then { lost in
        for job in lost { self.running.withLock { $0[job] }?.cancel() }
        return self.renewLeases()
      }
  }
}

/// Wakes the lanes that wait for a job.
final class Bell: Sendable {
  private let state = Mutex<(promise: Promise<Void>, resolver: Resolver<Void>)?>(nil)

  // A promise without consumers isn't reported as broken then.
  deinit { ring() }

  /// A promise that is fulfilled at the next call of ``ring()``.
  var next: Promise<Void> {
    state.withLock { state in
      let next = state ?? Promise.withResolvers()
      state = next
      return next.promise
    }.uncancellable()
  }

  func ring() {
    state.withLock { state in
      defer { state = nil }
      return state?.resolver
    }?.fulfill()
  }
}
