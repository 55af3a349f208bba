import Foundation
import Pledge
import PledgeTesting
import PostgreSQL
import Testing

@testable import workers

/// A worker with two lanes, whose downloads and time the test controls.
private final class TestWorker: Sendable {
  let worker: Worker
  let jobs: JobQueue
  let clock = TestClock()
  let downloads = Recorder<(job: Job, resolver: Resolver<Int>)>()
  let running: Promise<Void>

  init(_ options: String) {
    let bell = Bell()
    let database = Database(
      options, policy: .fixed(attempts: 100, delay: .milliseconds(100)), setUp: "LISTEN jobs"
    ) { bell.ring() }
    jobs = JobQueue(database: database, worker: "w", lease: .seconds(30))
    worker = Worker(jobs, bell: bell, clock: clock) { [downloads] job in
      Promise { resolver in downloads.record((job, resolver)) }
    }
    running = worker.run(concurrently: 2)
  }
}

@Suite(.enabled(if: hasServer)) struct WorkerTests {
  @Test func worker_performsJobs_andLeavesWithThoseThatRun() async throws {
    try await withDatabase { options in
      let test = TestWorker(options)
      // The notification wakes the lanes, which may have found no job before.
      try await test.jobs.submit(0..<3)
      await test.downloads.reaches(2).value
      test.downloads.events[0].resolver.fulfill(1)
      await test.downloads.reaches(3).value
      test.worker.stop()
      try await test.jobs.submit(3..<9)
      try expectPending(test.running)
      for download in test.downloads.events { download.resolver.fulfill(1) }
      try await expectFulfillment(of: test.running)
      #expect(try await test.jobs.count("results") == 3)
      #expect(try await test.jobs.count("jobs") == 6)
      #expect(try await test.jobs.count("leases WHERE expires_at > now()") == 0)
    }
  }

  @Test func lostLease_cancelsItsDownload_andNoOther() async throws {
    try await withDatabase { options in
      let test = TestWorker(options)
      try await test.jobs.submit(0..<2)
      await test.downloads.reaches(2).value
      let (lost, kept) = (test.downloads.events[0], test.downloads.events[1])
      let cancelled = Recorder<Void>()
      lost.resolver.onCancel { cancelled.record(()) }
      // As if another worker had taken the job after the end of the lease.
      _ = try await test.jobs.database.query(
        "UPDATE jobs SET attempts = attempts + 1, ready_at = now() + '1000 s' WHERE id = $1",
        [lost.job.id]
      ).value
      await test.clock.advance(by: .seconds(10))
      await cancelled.reaches(1).value
      #expect(kept.resolver.isPending)
      kept.resolver.fulfill(7)
      test.worker.stop()
      try await expectFulfillment(of: test.running)
      #expect(try await test.jobs.count("results WHERE bytes = 7") == 1)
      #expect(try await test.jobs.count("jobs WHERE attempts = 2") == 1)
    }
  }

  @Test func databaseThatCannotBeReached_cancelsDownloads_beforeTheirLeasesEnd() async throws {
    try await withDatabase { options in
      let test = TestWorker(options)
      try await test.jobs.submit(0..<2)
      await test.downloads.reaches(2).value
      let cancelled = Recorder<Void>()
      for download in test.downloads.events { download.resolver.onCancel { cancelled.record(()) } }
      let blocker = try await Connection.open(options).value
      _ = try await blocker.query("BEGIN; LOCK TABLE leases").value
      await test.clock.advance(by: .seconds(10))
      await test.clock.advance(by: .seconds(9))
      #expect(cancelled.count == 0)
      await test.clock.advance(by: .seconds(1))
      await cancelled.reaches(2).value
      blocker.close()
      test.worker.stop()
      test.running.cancel()
    }
  }

  @Test func connectionsThatEnd_loseNothing() async throws {
    try await withDatabase { options in
      let test = TestWorker(options)
      let other = try await Connection.open(options).value
      try await test.jobs.submit(0..<20)
      for round in 1...10 {
        // Both lanes have a job, so none of their queries is running.
        await test.downloads.reaches(2 * round).value
        _ = try await other.query(
          """
          SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()
          """
        ).value
        if round == 10 { test.worker.stop() }
        for download in test.downloads.events.suffix(2) { download.resolver.fulfill(round) }
      }
      try await expectFulfillment(of: test.running)
      #expect(try await test.jobs.count("results") == 20)
      other.close()
    }
  }
}
