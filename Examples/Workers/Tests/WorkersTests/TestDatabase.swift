import Foundation
import Pledge
import PledgeTesting
import PostgreSQL
import Testing

@testable import workers

/// Whether there is a server for the tests: `Examples/Workers/server run swift test …` starts one.
let hasServer = ProcessInfo.processInfo.environment["PGDATA"] != nil

private let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
  .deletingLastPathComponent().deletingLastPathComponent()

/// Calls `body` with the connection string of a database of its own, which contains the queue.
func withDatabase(_ body: (String) async throws -> Void) async throws {
  let name = "test_\(UUID().uuidString.lowercased().replacing("-", with: "_"))"
  let server = try await Connection.open("").value
  _ = try await server.query("CREATE DATABASE \(name)").value
  let schema = try String(contentsOf: root.appendingPathComponent("schema.sql"), encoding: .utf8)
  let connection = try await Connection.open("dbname=\(name)").value
  _ = try await connection.query(schema).value
  connection.close()
  try await body("dbname=\(name)")
  _ = try await server.query("DROP DATABASE \(name) WITH (FORCE)").value
  server.close()
}

/// A queue without pauses between the attempts of a query.
func queue(_ options: String, _ worker: String, lease: Duration = .seconds(1000)) -> JobQueue {
  JobQueue(
    database: Database(options, policy: .fixed(attempts: 100, delay: .zero)), worker: worker,
    lease: lease)
}

extension JobQueue {
  /// Adds jobs for a host, named by their numbers, and returns how many are new.
  @discardableResult
  func submit(_ numbers: Range<Int>, host: String = "a", perHost: Int = 100) async throws -> Int? {
    let sum = String(repeating: "A1", count: 32)
    let list = numbers.map { number in "\(sum)  http://\(host)/\(number)\n" }.joined()
    return Int(
      try await database.query("SELECT submit($1, $2)", [list, "\(perHost)"]).value[0][0] ?? "")
  }

  /// Lets all leases, or all delays, end now.
  func endLeases() async throws {
    _ = try await database.query("UPDATE leases SET expires_at = now()").value
    _ = try await database.query("UPDATE jobs SET ready_at = now()").value
  }

  func count(_ table: String) async throws -> Int? {
    Int(try await database.query("SELECT count(*) FROM \(table)").value[0][0] ?? "")
  }
}
