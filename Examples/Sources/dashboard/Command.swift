import Foundation
import LoopbackServer
import Pledge
import PledgeFoundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Loads a dashboard many times from services one of whose ten responses stalls for a second,
/// without and with hedged requests; then one of the services stops answering.
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

    print("24 pages of 5 services        median     90 %  requests")
    let slow = try await measure("without hedged requests", plain, stub)
    let quick = try await measure("with hedged requests", hedged, stub)

    print("The service for news stops answering:")
    stub.silent.withLock { $0 = "news" }
    var asked: [Int] = []
    for pages in [1...4, 5...24] {
      let longest = try await times(of: pages, hedged).last ?? 0
      asked.append(stub.unanswered.withLock { $0 } - (asked.last ?? 0))
      print(
        "  pages \(pages.lowerBound) to \(pages.upperBound):"
          + " at most \(Int(longest)) ms, \(asked.last ?? 0) requests to it")
    }
    let page = await hedged.page().value
    for (service, panel) in page.sorted(by: { $0.key < $1.key }) {
      print("    \(service): \(panel)")
    }
    exit(quick < slow && page["news"] == .stale("news") && asked[1] == 0 ? 0 : 1)
  }

  /// Loads 24 pages; returns the time within which half of them were complete.
  private static func measure(
    _ name: String, _ dashboard: Dashboard, _ stub: Stub
  ) async throws -> Double {
    let before = stub.requests.withLock { $0 }
    let times = try await times(of: 1...24, dashboard)
    let count = stub.requests.withLock { $0 } - before
    let title = name.padding(toLength: 26, withPad: " ", startingAt: 0)
    print("\(title) \(format(times[12])) \(format(times[21]))\(String(format: "%10d", count))")
    return times[12]
  }

  /// Loads pages, four at a time; returns how long each took, in milliseconds, in order.
  private static func times(
    of pages: ClosedRange<Int>, _ dashboard: Dashboard
  ) async throws -> [Double] {
    try await Promise.all(pages, concurrently: 4) { _ in
      let start = ContinuousClock.now
      return dashboard.page().map { _ in (ContinuousClock.now - start) / .milliseconds(1) }
    }
    .value.sorted()
  }

  private static func format(_ time: Double) -> String { String(format: "%5.0f ms", time) }
}

/// A service one of whose ten responses stalls.
final class Stub: Sendable {
  let requests = Mutex(0)
  /// The service that never answers.
  let silent = Mutex<String?>(nil)
  let unanswered = Mutex(0)

  func answer(_ path: String) async throws -> LoopbackServer.Answer {
    let service = String(path.dropFirst())
    if silent.withLock({ $0 == service }) {
      unanswered.withLock { $0 += 1 }
      try await Task.sleep(for: .seconds(3600))
    }
    let number = requests.withLock { count in
      count += 1
      return count
    }
    if number % 10 == 0 { try await Task.sleep(for: .seconds(1)) }
    return .init(Data(service.utf8))
  }
}
