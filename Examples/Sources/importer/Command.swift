import Foundation
import Pledge

/// A shop with ten pages, where a third of the pages is busy at first, and one answer never comes.
actor SimulatedShop: Shop {
  private let clock: any Clock<Duration>
  private let log: @Sendable (String) -> Void
  private var requests: [String: Int] = [:]

  init(
    clock: any Clock<Duration> = ContinuousClock(),
    log: @escaping @Sendable (String) -> Void = { print("  shop: \($0)") }
  ) {
    self.clock = clock
    self.log = log
  }

  func signIn() async throws -> String {
    try await respond("sign in")
    return "secret"
  }

  func exchangeRate() async throws -> Double {
    if try await respond("exchange rate") == 1 { try await stall("exchange rate") }
    return 0.5
  }

  func pageCount(token: String) async throws -> Int {
    try await respond("page count")
    return 10
  }

  func page(_ number: Int, token: String) async throws -> [Item] {
    let request = try await respond("page \(number)")
    if number % 3 == 0, request == 1 { throw Busy() }
    if number == 5, request == 1 { try await stall("page 5") }
    return (0..<3).map { Item(name: "item \(3 * number + $0)", price: 2) }
  }

  /// Takes 50 milliseconds, and returns the number of requests of this kind.
  @discardableResult
  private func respond(_ request: String) async throws -> Int {
    requests[request, default: 0] += 1
    let number = requests[request, default: 0]
    log(number > 1 ? "\(request), request \(number)" : request)
    try await clock.sleep(for: .milliseconds(50))
    return number
  }

  private func stall(_ request: String) async throws {
    do {
      try await clock.sleep(for: .seconds(3600))
    } catch {
      log("\(request) stalled, and was cancelled")
      throw error
    }
  }
}

/// A database in memory.
actor MemoryDatabase: Database {
  private(set) var items: [Item] = []
  private(set) var isClosed = false

  func insert(_ item: Item) { items.append(item) }

  func close() { isClosed = true }
}

@main
struct Command {
  static func main() async {
    let database = MemoryDatabase()
    do {
      let count = try await Importer(SimulatedShop()) { database }.run()
      let isClosed = await database.isClosed
      print("\(count) items imported; the database is \(isClosed ? "closed" : "open")")
      exit(count == 30 && isClosed ? 0 : 1)
    } catch {
      print("error: \(error)")
      exit(1)
    }
  }
}
