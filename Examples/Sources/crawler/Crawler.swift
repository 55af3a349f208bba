import Foundation
import Pledge
import PledgeFoundation

/// What the crawler found at an address: the number of links, or an error.
struct Visit: Sendable {
  let url: URL
  let result: Result<Int, any Error>
}

/// Visits all pages that can be reached from one.
///
/// It sends at most two requests at a time to each host, and waits as long as a busy host requests.
@MainActor
final class Crawler {
  private let load: @Sendable (URL) -> Promise<String>
  private let clock: any Clock<Duration>
  private let retries = RetryPolicy.exponential(attempts: 4, from: .milliseconds(200)).withJitter()
    .retryingTransientErrors().honoringRetryAfter(limit: .seconds(10))

  private let hosts = KeyedLimiter<String> { _ in Limiter(2) }
  private var known: Set<URL> = []
  private let scope = PromiseScope()
  private var crawl: Promise<Void>?

  /// Creates a crawler that loads pages with `load`.
  init(
    clock: any Clock<Duration> = ContinuousClock(),
    load: @escaping @Sendable (URL) -> Promise<String>
  ) {
    self.load = load
    self.clock = clock
  }

  /// Crawls from `start`, and returns the visits in the order in which they end.
  ///
  /// After `limit`, or after `stop()`, the remaining visits end with a `CancellationError`, so that
  /// each address is in the sequence. Leaving the loop cancels them, too.
  func visits(from start: URL, within limit: Duration) -> AsyncStream<Visit> {
    let (visits, continuation) = AsyncStream<Visit>.makeStream()
    known.insert(start)
    let crawl = visit(start, continuation).timeout(after: limit, clock: clock)
    self.crawl = crawl
    continuation.onTermination = { _ in crawl.cancel() }
    crawl
      // The errors are in the visits. The scope waits until the last one has ended.
      .catch { _ in }
      .then { _ in self.scope.close() }
      .done { _ in continuation.finish() }
    return visits
  }

  /// Cancels the visits that haven't ended.
  func stop() { crawl?.cancel() }

  /// Visits a page, and then the pages that it links to.
  private func visit(_ url: URL, _ visits: AsyncStream<Visit>.Continuation) -> Promise<Void> {
    let host = hosts.limiter(for: "\(url.host() ?? ""):\(url.port ?? 80)")
    // Each attempt takes a place in the host's queue. The delay between attempts takes none.
    return Promise.retry(retries, clock: clock) { [load] in host.run { load(url) } }
      .map { page in links(in: page, at: url) }
      .tap { result in visits.yield(Visit(url: url, result: result.map { links in links.count })) }
      // Cancelled with the scope, which waits for it when it closes.
      .bound(to: scope)
      .then { links -> Promise<Void> in
        let new = links.filter { link in self.known.insert(link).inserted }
        return Promise.allSettled(new.map { link in self.visit(link, visits) }).asVoid()
      }
  }
}

/// The addresses of the links in a page.
private func links(in page: String, at url: URL) -> [URL] {
  page.matches(of: /href="([^"]+)"/).compactMap { match in
    URL(string: String(match.1), relativeTo: url)?.absoluteURL
  }
}

/// Returns a guarantee that is fulfilled by the first Ctrl-C; the second one ends the program.
@MainActor
func interruption() -> Guarantee<Void> {
  let (interruption, resolver) = Guarantee<Void>.withResolvers()
  signal(SIGINT, SIG_IGN)
  let source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .main)
  source.setEventHandler {
    signal(SIGINT, SIG_DFL)
    resolver.fulfill()
  }
  // This handler also keeps the source.
  resolver.onCancel { source.cancel() }
  source.resume()
  return interruption
}
