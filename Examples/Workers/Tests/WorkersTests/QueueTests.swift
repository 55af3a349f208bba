import Foundation
import Pledge
import PledgeFoundation
import PledgeTesting
import PostgreSQL
import Testing

@testable import workers

@Suite(.enabled(if: hasServer)) struct QueueTests {
  @Test func list_isSubmittedOnce_orNotAtAll() async throws {
    try await withDatabase { options in
      let queue = queue(options, "w")
      #expect(try await queue.submit(0..<3) == 3)
      #expect(try await queue.submit(1..<5) == 2)
      let sum = String(repeating: "0", count: 64)
      let hosts = ["HTTP://a/", "http://u@B:81/c@d?e", "https://c?d", "http://d#e"]
      _ = try await queue.database.query(
        "SELECT submit($1, 1)", [hosts.dropFirst().map { "\(sum) \($0)\n" }.joined()]
      ).value
      let rows = try await queue.database.query("SELECT DISTINCT host FROM jobs ORDER BY 1").value
      #expect(rows == [["a"], ["b:81"], ["c"], ["d"]])
      for line in [
        sum, "\(sum) a", "\(sum) file:///a", "\(sum) http://z/ b", "\(sum.dropLast()) http://z/",
        hosts[0],
      ] {
        let result = await queue.database.query(
          "SELECT submit($1, 1)", ["\(sum) http://good/\n\(line)"]
        ).result
        #expect(throws: PostgresError.self, "\(line)") { try result.get() }
      }
      #expect(try await queue.count("jobs WHERE host = 'good'") == 0)
    }
  }

  @Test func job_endsOnce() async throws {
    try await withDatabase { options in
      let queue = queue(options, "w")
      try await queue.submit(0..<1)
      let job = try #require(await queue.take().value)
      #expect(job.attempt == "1" && job.url == "http://a/0")
      #expect(try await queue.take().value == nil)
      for _ in 0..<2 { try await queue.finish(job, bytes: 7).value }
      try await queue.fail(job, Boom()).value
      try await queue.submit(0..<1)
      #expect(try await queue.count("results WHERE bytes = 7 AND worker = 'w'") == 1)
      #expect(try await queue.count("jobs") == 0)
      #expect(try await queue.count("failures") == 0)
    }
  }

  @Test func lostLease_goesToAnotherWorker_andTheFirstCannotEndTheJob() async throws {
    try await withDatabase { options in
      let (first, second) = (queue(options, "1"), queue(options, "2"))
      try await first.submit(0..<1)
      let lost = try #require(await first.take().value)
      #expect(try await first.renew([lost]).value == [])
      try await first.endLeases()
      let taken = try #require(await second.take().value)
      #expect(taken.id == lost.id && taken.attempt == "2")
      #expect(try await first.renew([lost]).value == [lost])
      try await first.finish(lost, bytes: 1).value
      try await first.fail(lost, Boom()).value
      #expect(try await second.renew([taken]).value == [])
      try await second.finish(taken, bytes: 2).value
      #expect(try await second.count("results WHERE bytes = 2 AND attempts = 2") == 1)
    }
  }

  @Test func limitOfAHost_holdsForAllWorkers() async throws {
    try await withDatabase { options in
      let queues = (0..<6).map { queue(options, "\($0)") }
      try await queues[0].submit(0..<200, host: "a", perHost: 3)
      try await queues[0].submit(0..<200, host: "b", perHost: 5)
      // All at once: the statements of different connections compete for the rows.
      let takes = Promise.all(queues.flatMap { queue in (0..<10).map { _ in queue.take() } })
      let jobs = try await takes.value.compactMap(\.self)
      #expect(Set(jobs).count == jobs.count)
      // A statement that meets locked rows can leave them out, but never takes too many.
      #expect(jobs.filter { $0.url.hasPrefix("http://a/") }.count <= 3)
      #expect(jobs.filter { $0.url.hasPrefix("http://b/") }.count <= 5)
      var rest = 0
      while try await queues[0].take().value != nil { rest += 1 }
      #expect(jobs.count + rest == 8)
      for job in jobs { try await queues[0].finish(job, bytes: 0).value }
      #expect(try await queues[0].count("leases WHERE expires_at > now()") == rest)
    }
  }

  @Test func failedJob_isRepeated_andThenListedWithItsReason() async throws {
    try await withDatabase { options in
      let queue = queue(options, "w")
      try await queue.submit(0..<1)
      for attempt in 1...10 {
        let job = try #require(await queue.take().value)
        #expect(job.attempt == "\(attempt)")
        try await queue.fail(job, Boom()).value
        #expect(try await queue.count("leases WHERE expires_at > now()") == 0)
        try await queue.endLeases()
      }
      #expect(try await queue.count("failures WHERE reason = 'Boom()' AND attempts = 10") == 1)
      #expect(try await queue.count("jobs") == 0)
      // It starts again when it is submitted again.
      try await queue.submit(0..<1)
      #expect(try await queue.count("failures") == 0)
      #expect(try await queue.take().value?.attempt == "1")
    }
  }

  @Test func jobThatEndsItsWorkers_failsInTheEnd() async throws {
    try await withDatabase { options in
      let queue = queue(options, "w")
      try await queue.submit(0..<1)
      for _ in 1...10 {
        _ = try #require(await queue.take().value)
        try await queue.endLeases()
      }
      #expect(try await queue.take().value == nil)
      #expect(try await queue.renew([]).value == [])
      #expect(try await queue.count("failures WHERE reason LIKE 'The worker disappeared%'") == 1)
    }
  }

  @Test func missingFile_isNotRepeated() async throws {
    try await withDatabase { options in
      let queue = queue(options, "w")
      try await queue.submit(0..<1)
      let job = try #require(await queue.take().value)
      try await queue.fail(job, HTTPStatusError(status: 404, url: nil, headers: [:])).value
      #expect(try await queue.count("failures WHERE attempts = 1") == 1)
    }
  }

  @Test func metrics_showQueueAgeAndLeases() async throws {
    try await withDatabase { options in
      let queue = queue(options, "w")
      try await queue.submit(0..<5)
      _ = try await queue.database.query(
        "UPDATE jobs SET submitted_at = now() - interval '90 s', ready_at = now() - interval '60 s'"
      ).value
      let jobs = [try await queue.take().value, try await queue.take().value].compactMap(\.self)
      try await queue.finish(jobs[0], bytes: 1).value
      let row = try await queue.database.query("SELECT * FROM metrics").value[0]
      #expect(row == ["4", "3", "1", "1", "90", "60", "1", "0"])
    }
  }
}

struct Boom: Error {}
