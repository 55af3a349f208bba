import Pledge

struct Item: Sendable, Equatable {
  var name: String
  var price: Double
}

protocol Shop: Sendable {
  func signIn() async throws -> String
  func exchangeRate() async throws -> Double
  func pageCount(token: String) async throws -> Int
  func page(_ number: Int, token: String) async throws -> [Item]
}

protocol Database: Sendable {
  func insert(_ item: Item) async throws
  func close() async
}

struct Busy: Error {}

/// Imports the catalog of a shop into a database.
///
/// This file contains no promise: each policy is an `async` function, which runs its operation in
/// the calling task or in child tasks.
struct Importer: Sendable {
  let shop: any Shop
  let open: @Sendable () async throws -> any Database
  let clock: any Clock<Duration>

  private let tokens: RequestCoalescer<String, String>
  private let requests: Limiter
  private let retries: RetryPolicy

  init(
    _ shop: any Shop, clock: any Clock<Duration> = ContinuousClock(),
    open: @escaping @Sendable () async throws -> any Database
  ) {
    self.shop = shop
    self.open = open
    self.clock = clock
    tokens = RequestCoalescer(caching: .init(lifetime: .seconds(600)), clock: clock)
    requests = Limiter(4, rate: .init(20, per: .seconds(1)), clock: clock)
    var retries = RetryPolicy.exponential(attempts: 4, from: .milliseconds(100))
      .retrying { error in error is Busy || error is TimeoutError }
    retries.attemptTimeout = .seconds(1)
    self.retries = retries
  }

  /// Imports all items, with their prices converted; returns their number.
  func run() async throws -> Int {
    // The database is closed in any case, also if a request fails, or if the task is cancelled.
    try await withResource(acquire: open, release: { await $0.close() }) { database in
      // Most answers are quick; the second request overtakes one that isn't.
      let rate = try await hedged(delay: .milliseconds(200), clock: clock) {
        try await shop.exchangeRate()
      }
      let count = try await request { try await shop.pageCount(token: $0) }
      // Eight pages at a time, in order. The first error cancels the others.
      let pages = try await concurrentMap(0..<count, limit: 8) { number in
        try await request { try await shop.page(number, token: $0) }
      }
      for item in pages.joined() {
        try await database.insert(Item(name: item.name, price: item.price * rate))
      }
      return pages.joined().count
    }
  }

  /// Sends a request, again if necessary, with a token that all requests share.
  private func request<Value: Sendable>(
    _ send: @escaping @Sendable (_ token: String) async throws -> Value
  ) async throws -> Value {
    try await retry(retries, clock: clock) {
      let token = try await tokens.value(for: "token") { try await shop.signIn() }
      return try await requests.perform { try await send(token) }
    }
  }
}
