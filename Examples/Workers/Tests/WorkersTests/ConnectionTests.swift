import Pledge
import PledgeTesting
import PostgreSQL
import Testing

@Suite(.enabled(if: hasServer)) struct ConnectionTests {
  @Test func query_returnsRows_withNull() async throws {
    let connection = try await Connection.open("").value
    let rows = try await connection.query(
      "SELECT $1::int + n, $2 || 'é', $3::text FROM generate_series(1, 2) AS n", ["40", "caf", nil]
    ).value
    #expect(rows.map { [$0[0], $0[1], $0[2]] } == [["41", "café", nil], ["42", "café", nil]])
    connection.close()
  }

  @Test func queries_runInOrder() async throws {
    let connection = try await Connection.open("").value
    let results = (0..<50).map { number in
      connection.query("SELECT \(number), pg_sleep(0.001)").map { Int($0[0][0] ?? "") }
    }
    #expect(try await Promise.all(results).value == Array(0..<50))
    connection.close()
  }

  /// More than the buffers of the socket hold, in both directions.
  @Test func largeQuery_isSentInParts() async throws {
    let connection = try await Connection.open("").value
    let text = String(repeating: "0123456789", count: 2_000_000)
    let rows = try await connection.query("SELECT $1, length($1)", [text]).value
    #expect(rows[0][1] == "20000000")
    #expect(rows[0][0] == text)
    connection.close()
  }

  @Test func error_hasItsState_andTheNextQueryWorks() async throws {
    let connection = try await Connection.open("").value
    let result = await connection.query("SELECT 1/0").result
    let error = try #require(throws: PostgresError.self) { try result.get() }
    #expect(error.state == "22012")
    #expect(error.description.contains("division by zero"))
    #expect(!error.isTransient)
    #expect(try await connection.query("SELECT 1").value[0][0] == "1")
    connection.close()
  }

  @Test func wrongServer_isAnError() async throws {
    let result = await Connection.open("host=127.0.0.1 port=1").result
    let error = try #require(throws: PostgresError.self) { try result.get() }
    #expect(error.state == nil && error.isTransient)
    #expect(error.description.contains("refused"))
  }

  @Test func cancelledQuery_endsTheConnection_andAWaitingOneDoesNot() async throws {
    let connection = try await Connection.open("").value
    let running = connection.query("SELECT pg_sleep(1000)")
    let waiting = connection.query("SELECT 1")
    let last = connection.query("SELECT 2")
    waiting.cancel()
    try await expectCancellation(of: waiting)
    let other = try await Connection.open("").value
    while try await other.query(
      "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(1000)'"
    ).value != [["1"]] {}
    running.cancel()
    try await expectCancellation(of: running)
    try await expectFulfillment(of: connection.closed)
    #expect(await last.map { _ in false }.replaceError { $0 is PostgresError }.value)
    other.close()
  }

  @Test func terminatedConnection_rejectsItsQuery() async throws {
    let (first, second) = try await Promise.all(Connection.open(""), Connection.open("")).value
    let process = try await first.query("SELECT pg_backend_pid()").value[0][0]
    let running = first.query("SELECT pg_sleep(999)")
    _ = try await second.query("SELECT pg_terminate_backend($1)", [process]).value
    let error = await #expect(throws: PostgresError.self) { try await running.value }
    #expect(error?.isTransient == true)
    try await expectFulfillment(of: first.closed)
    second.close()
  }

  @Test func notification_arrives_alsoAfterAReconnection() async throws {
    let rings = CallCounter()
    let received = Recorder<Void>()
    let database = Database(
      "", policy: .fixed(attempts: 100, delay: .zero), setUp: "LISTEN test"
    ) {
      rings.call()
      received.record(())
    }
    let other = try await Connection.open("").value
    let process = try await database.query("SELECT pg_backend_pid()").value[0][0]
    #expect(rings.count == 1)
    _ = try await other.query("NOTIFY test").value
    try await expectFulfillment(of: received.reaches(2).promise)

    _ = try await other.query("SELECT pg_terminate_backend($1)", [process]).value
    #expect(try await database.query("SELECT 1").value[0][0] == "1")
    #expect(rings.count == 3)
    _ = try await other.query("NOTIFY test").value
    try await expectFulfillment(of: received.reaches(4).promise)
    other.close()
  }
}
