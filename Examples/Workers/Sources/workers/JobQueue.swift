import Foundation
import Pledge
import PledgeFoundation
import PostgreSQL

/// An attempt of a job.
struct Job: Codable, Hashable, Sendable {
  let id: String
  let attempt: String
  let url: String
  let sha256: String
}

/// The queue as a worker uses it: a database with the functions in `schema.sql`.
struct JobQueue: Sendable {
  let database: Database
  /// A name that no other worker has.
  let worker: String
  let lease: Duration

  private var seconds: String { "\(lease / .seconds(1)) s" }

  /// Takes a job; returns nil if there is none whose host has a free lease.
  func take() -> Promise<Job?> {
    database.query("SELECT * FROM take($1, $2)", [worker, seconds]).map { rows in
      rows.first.map { row in
        Job(id: row[0] ?? "", attempt: row[1] ?? "", url: row[2] ?? "", sha256: row[3] ?? "")
      }
    }
  }

  /// Renews the leases of jobs, and returns those that have lost theirs.
  func renew(_ jobs: [Job]) -> Promise<[Job]> {
    Promise { String(decoding: try JSONEncoder().encode(jobs), as: UTF8.self) }
      .then { database.query("SELECT * FROM renew($1, $2)", [$0, seconds]) }
      .map { rows in jobs.filter { !rows.contains([$0.id, $0.attempt]) } }
  }

  /// Records the result of a job.
  func finish(_ job: Job, bytes: Int) -> Promise<Void> {
    database.query(
      "SELECT finish($1, $2, $3, $4)", [job.id, job.attempt, worker, "\(bytes)"]
    ).asVoid()
  }

  /// Returns a job to the queue, or ends it if another attempt can't succeed.
  func fail(_ job: Job, _ error: any Error) -> Promise<Void> {
    let policy = RetryPolicy.exponential(
      attempts: .max, from: .milliseconds(200), maximum: .seconds(60)
    )
    .withJitter().honoringRetryAfter()
    let delay = policy.requestedDelay(error) ?? policy.delay(Int(job.attempt) ?? 1)
    let isFinal =
      (error as? URLError)?.code == .badURL
      || error is HTTPStatusError && !RetryPolicy.isTransient(error)
    return database.query(
      "SELECT fail($1, $2, $3, $4)",
      [job.id, job.attempt, "\(error)", isFinal ? nil : "\(delay / .seconds(1)) s"]
    ).asVoid()
  }
}
