import Foundation
import LoopbackServer
import Pledge
import PledgeFoundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Loads a dashboard many times from services one of whose ten responses stalls for a second,
/// without and with hedged requests; then one of the services fails.
@main
struct Command {
  static func main() async throws {
    let stub = Stub()
    let server = try LoopbackServer { path in try await stub.answer(path) }
    let configuration = URLSessionConfiguration.ephemeral
    // Requests that stall must not occupy the connections of the others.
    configuration.httpMaximumConnectionsPerHost = 40
    let session = URLSession(configuration: configuration)
    let load: @Sendable (String) -> Promise<String> = { service in
      session.load(server.url.appending(path: service)).validate()
        .map { data, _ in String(decoding: data, as: UTF8.self) }
    }
    let services = ["weather", "news", "mail", "calendar", "stocks"]
    let plain = Dashboard(of: services, hedgeDelay: .seconds(60), load: load)
    let hedged = Dashboard(of: services, log: { event in print("  \(event)") }, load: load)

    print("40 pages of 5 services        median     90 %  requests")
    let slow = try await measure("without hedged requests", plain, stub)
    let quick = try await measure("with hedged requests", hedged, stub)

    print("The service for news fails:")
    stub.failing.withLock { $0 = "news" }
    var page: [String: Dashboard.Panel] = [:]
    for _ in 1...20 { page = await hedged.page().value }
    let refused = stub.refused.withLock { $0 }
    print("  20 pages send it \(refused) requests, and show:")
    for (service, panel) in page.sorted(by: { $0.key < $1.key }) {
      print("    \(service): \(panel)")
    }
    exit(quick < slow && page["news"] == .stale("news") && refused < 20 ? 0 : 1)
  }

  /// Loads 40 pages, four at a time; returns the time within which 90 % of them were complete.
  private static func measure(
    _ name: String, _ dashboard: Dashboard, _ stub: Stub
  ) async throws -> Double {
    let before = stub.requests.withLock { $0 }
    let times = try await Promise.all(1...40, concurrently: 4) { _ in
      let start = ContinuousClock.now
      return dashboard.page().map { _ in (ContinuousClock.now - start) / .milliseconds(1) }
    }
    .value.sorted()
    let count = stub.requests.withLock { $0 } - before
    func column(_ time: Double) -> String { String(format: "%6.0f ms", time) }
    let title = name.padding(toLength: 27, withPad: " ", startingAt: 0)
    print("\(title)\(column(times[20]))\(column(times[36]))\(String(format: "%10d", count))")
    return times[36]
  }
}

/// A service one of whose ten responses stalls.
final class Stub: Sendable {
  let requests = Mutex(0)
  let failing = Mutex<String?>(nil)
  let refused = Mutex(0)

  func answer(_ path: String) async throws -> LoopbackServer.Answer {
    let service = String(path.dropFirst())
    if failing.withLock({ $0 == service }) {
      refused.withLock { $0 += 1 }
      return .init(status: 500)
    }
    let number = requests.withLock { count in
      count += 1
      return count
    }
    if number % 10 == 0 { try await Task.sleep(for: .seconds(1)) }
    return .init(Data(service.utf8))
  }
}
