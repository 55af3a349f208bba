import InMemoryLogging
import Logging
import Pledge
import PledgeDiagnostics
import Synchronization
import Testing

@testable import gateway

/// Logs, metrics, and reports for operators of the gateway.
@Suite struct ObservingTests {
  @Test(arguments: RunningServer.endpoints)
  func eachLineOfLog_hasTheIDOfItsRequest_andNoOther(endpoint: String) async throws {
    let handler = InMemoryLogHandler()
    var logger = Logger(label: "test") { _ in handler }
    logger.logLevel = .debug
    var settings = Settings.test
    settings.hedgeDelay = .milliseconds(20)
    settings.hedgeReserve = 1000
    let hangUp = Event()
    // Some calls fail, and some are hedged, so that handlers of all kinds write to the log.
    let seen = Mutex<Set<String>>([])
    let fate: @Sendable (String, UnreliableBackend.Call) -> Fate = { backend, call in
      // The second call for a page has no fault.
      let isFirst = seen.withLock { $0.insert("\(backend) \(call.id)").inserted }
      switch isFirst ? call.id % 10 : 2 {
      case 0: return .fail
      case 1: return .stall(untilHangUp: hangUp)
      default: return .answer(after: .milliseconds(Double(call.id % 7)))
      }
    }
    let ids = 910_000..<910_060
    try await withServer(settings, logger: logger, fate: fate) { server in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for id in ids {
          group.addTask {
            let answer = try await server.get("\(endpoint)/\(id)", ["x-request-id": "r\(id)"])
            #expect(answer.headers["x-request-id"] == "r\(id)")
          }
        }
        try await group.waitForAll()
      }
    }
    var lines: [Int: Int] = [:]
    for entry in handler.entries {
      guard let id = ids.first(where: { "\(entry.message)".contains("\($0)") }) else { continue }
      #expect(entry.metadata["request"] == "r\(id)", "\(entry.message)")
      lines[id, default: 0] += 1
    }
    // At least the gateway's line, and two for each of three calls: the caller's and the backend's.
    for id in ids { #expect(lines[id, default: 0] >= 7) }
  }

  @Test func theHTTPClientsOwnLines_haveTheID() async throws {
    let handler = InMemoryLogHandler()
    var logger = Logger(label: "test") { _ in handler }
    logger.logLevel = .trace
    try await withServer(logger: logger) { server in
      _ = try await server.get("page/7", ["x-request-id": "mine"])
    }
    let lines = handler.entries.filter { $0.metadata["ahc-request-id"] != nil }
    #expect(!lines.isEmpty)
    for line in lines { #expect(line.metadata["request"] == "mine") }
  }

  @Test func pendingPromises_areShownWithTheirNames() async throws {
    let (arrival, opening) = (Event(), Event())
    let fate = Fate.holding("prices", until: opening, noting: arrival)
    try await Trace.recording(capturesPlaces: false) { _ in
      try await withServer(fate: fate) { server in
        async let page = server.get("page/7")
        try await arrival.wait()
        let pending = try await server.get("debug/pending").text
        #expect(pending.contains("prices 7"))
        #expect(pending.contains("page 7"))
        opening.happens()
        #expect(try await page.status == 200)
      }
    }
  }

  @Test(arguments: RunningServer.endpoints)
  func metrics_countRequestsAndCalls(endpoint: String) async throws {
    try await withServer { server in
      for id in 1...3 { _ = try await server.get("\(endpoint)/\(id)") }
      for line in [
        #"gateway_requests_total{endpoint="/\#(endpoint)/{id}",status="200"}"#,
        #"gateway_request_seconds_bucket{endpoint="/\#(endpoint)/{id}",le="+Inf"}"#,
        #"backend_calls_total{backend="prices"}"#,
        #"pledge_coalescer_requests{coalescer="contents",result="started"}"#,
        #"pledge_limiter_run_count{limiter="prices"}"#,
        #"pledge_limiter_wait_count{limiter="prices"}"#,
      ] { #expect(try await server.metric(line) == 3, "\(line)") }
      let text = try await server.get("metrics").text
      #expect(text.contains("# TYPE gateway_request_seconds histogram"))
    }
  }
}
