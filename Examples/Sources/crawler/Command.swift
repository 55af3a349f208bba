import Foundation
import LoopbackServer
import Pledge
import PledgeFoundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Crawls three local hosts, one of which is busy at first; stops after a time limit, or at Ctrl-C.
@main
struct Command {
  @MainActor
  static func main() async throws {
    guard let limit = CommandLine.arguments.count > 1 ? Double(CommandLine.arguments[1]) : 30 else {
      print("usage: crawler [SECONDS]")
      exit(64)
    }
    let site = Site(hostCount: 3)
    let start = try site.start()

    let session = URLSession(configuration: .ephemeral)
    let crawler = Crawler { url in
      session.load(url).validate().timeout(after: .seconds(5))
        .map { data, _ in String(decoding: data, as: UTF8.self) }
    }
    let interruption = interruption()
    interruption.done { crawler.stop() }

    var visited = 0
    var failed = 0
    for await visit in crawler.visits(from: start, within: .seconds(limit)) {
      switch visit.result {
      case .success(let count):
        visited += 1
        print("\(visit.url.absoluteString): \(count) links")
      case .failure(let error):
        failed += 1
        print("\(visit.url.absoluteString): \(error)")
      }
      // Into a pipe, too, a result is written when it arrives.
      fflush(nil)
    }
    print("\(visited) pages visited, \(failed) failed or not visited in time")
    let hosts = site.hosts.withLock { $0 }
    for (number, host) in hosts.enumerated() {
      print(
        "Host \(number + 1): \(host.requests) requests, at most \(host.most) at a time, "
          + "\(host.refused) refused")
    }
    if !interruption.isPending { exit(130) }
    exit(failed == 0 && hosts.allSatisfy { $0.most <= 2 } ? 0 : 1)
  }
}

/// Hosts with 12 pages each, which link to one another.
final class Site: Sendable {
  struct Host {
    var server: LoopbackServer?
    var requests = 0
    var running = 0
    var most = 0
    var refused = 0
  }

  let hosts: Mutex<[Host]>

  init(hostCount: Int) { hosts = Mutex(Array(repeating: Host(), count: hostCount)) }

  /// Starts the hosts, and returns the URL of a page from which all pages can be reached.
  func start() throws -> URL {
    for host in hosts.withLock({ $0.indices }) {
      let server = try LoopbackServer { [self] path in try await answer(path, host) }
      hosts.withLock { $0[host].server = server }
    }
    return hosts.withLock { $0[0].server?.url ?? URL(filePath: "/") }
  }

  /// Answers after 50 ms, except that the second host refuses its first three requests.
  private func answer(_ path: String, _ number: Int) async throws -> LoopbackServer.Answer {
    let isRefused = hosts.withLock { hosts in
      hosts[number].requests += 1
      hosts[number].running += 1
      hosts[number].most = max(hosts[number].most, hosts[number].running)
      if number == 1, hosts[number].requests <= 3 { hosts[number].refused += 1 }
      return number == 1 && hosts[number].requests <= 3
    }
    defer { hosts.withLock { $0[number].running -= 1 } }
    try await Task.sleep(for: .milliseconds(50))
    if isRefused { return .init(status: 429, headers: ["Retry-After": "1"]) }
    let page = Int(path.dropFirst()) ?? 0
    let pages = [2 * page + 1, 2 * page + 2].filter { $0 < 12 }.map { "/\($0)" }
    let others = page > 0 ? [] : hosts.withLock { $0.compactMap { $0.server?.url.absoluteString } }
    let body = (pages + others).map { "<a href=\"\($0)\">…</a>\n" }.joined()
    return .init(Data(body.utf8))
  }
}
