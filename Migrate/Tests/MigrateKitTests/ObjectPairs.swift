extension Pair {
  /// Classes whose properties hold promises, resolvers, and queues.
  static let objects: [Pair] = [
    Pair(
      "stored resolver", locatorBefore,
      locatorAfter(failing: "waiting?.resume(throwing: error)\n    waiting = nil"), finds: []),
    Pair(
      "stored continuation that is never resumed", locatorBefore,
      locatorAfter(failing: "waiting = nil"), finds: [.effectLost]),
    Pair(
      "shared promise",
      """
      import PromiseKit
      @MainActor final class Menu {
        var loading: Promise<Card>?
        func card() -> Promise<Card> {
          if let loading = loading { return loading }
          let promise = kitchen.card().get { card in log.info(card.name) }
          loading = promise
          return promise
        }
      }
      """,
      """
      @MainActor final class Menu {
        var loading: Task<Card, Error>?
        func card() async throws -> Card {
          if let loading { return try await loading.value }
          let task = Task {
            let loading = try await kitchen.card()
            log.info(loading.name)
            return loading
          }
          loading = task
          return try await task.value
        }
      }
      """,
      finds: []),
    Pair(
      "queue that became an actor", exportBefore,
      """
      actor Writer {
        func write(_ data: Data, _ url: URL) throws { try data.write(to: url) }
      }
      @MainActor final class Exporter {
        let writer = Writer()
        func export(_ page: Page, _ url: URL) async throws {
          let data = try await press.render(page)
          try await writer.write(data, url)
        }
      }
      """,
      finds: []),
    Pair(
      "queue that became a global actor", exportBefore,
      """
      @MainActor final class Exporter {
        func export(_ page: Page, _ url: URL) async throws {
          let data = try await press.render(page)
          try await write(data, url)
        }
        @DiskActor private func write(_ data: Data, _ url: URL) throws { try data.write(to: url) }
      }
      """,
      finds: []),
    Pair(
      "queue that became the main thread", exportBefore,
      """
      @MainActor final class Exporter {
        func export(_ page: Page, _ url: URL) async throws {
          let data = try await press.render(page)
          try data.write(to: url)
        }
      }
      """,
      finds: [.executorChanged]),
    Pair(
      "priority of a queue", digestBefore,
      """
      @MainActor func digest(_ data: Data) async -> String {
        await Task.detached(priority: .utility) { sha.digest(data) }.value
      }
      """,
      finds: []),
    Pair(
      "priority of a queue lost", digestBefore,
      """
      @MainActor func digest(_ data: Data) async -> String {
        await Task.detached { sha.digest(data) }.value
      }
      """,
      finds: [.priorityChanged]),
    Pair(
      "closure that returned a promise",
      """
      import PromiseKit
      @MainActor final class Gate {
        func pass<T>(_ work: @escaping (Key) -> Promise<T>) -> Promise<T> {
          key().then { work($0) }
        }
        func key() -> Promise<Key> { safe.key() }
      }
      """,
      """
      @MainActor final class Gate {
        func pass<T>(_ work: (Key) async throws -> T) async throws -> T {
          try await work(key())
        }
        func key() async throws -> Key { try await safe.key() }
      }
      """,
      finds: []),
    Pair(
      "type of an error",
      """
      import PromiseKit
      @MainActor func quota() -> Promise<Int> {
        disk.quota().recover { error -> Promise<Int> in
          guard error is DiskFailure else { throw error }
          return disk.estimate()
        }
      }
      """,
      """
      @MainActor func quota() async throws -> Int {
        do { return try await disk.quota() } catch is DiskFailure {
          return try await disk.estimate()
        }
      }
      """,
      finds: []),
    Pair(
      "validate", roomBefore,
      """
      @MainActor func room(_ id: Int) async throws -> Room {
        let room = try await hotel.room(id)
        guard room.isFree else { throw HotelError.taken }
        return room
      }
      """,
      finds: []),
    Pair(
      "validate lost", roomBefore,
      """
      @MainActor func room(_ id: Int) async throws -> Room { try await hotel.room(id) }
      """,
      finds: [.errorSwallowed]),
    Pair(
      "value passed on or replaced", greetBefore,
      """
      @MainActor func greet(_ name: String) async throws -> Guest {
        let guest = try await desk.find(name)
        bell.ring(guest)
        return guest
      }
      """,
      finds: []),
    Pair(
      "other value", greetBefore,
      """
      @MainActor func greet(_ name: String) async throws -> Guest {
        let guest = try await desk.find(name)
        bell.ring(guest)
        return desk.owner
      }
      """,
      finds: [.resultChanged]),
    Pair(
      "recovery with an effect",
      """
      import Promises
      @MainActor func thank(_ guest: Guest) -> Promise<Void> {
        mail.send(guest).recover { error -> Void in log.note(error) }
      }
      """,
      """
      @MainActor func thank(_ guest: Guest) async {
        do { try await mail.send(guest) } catch { log.note(error) }
      }
      """,
      finds: []),
  ]

  private static let locatorBefore = """
    import PromiseKit
    @MainActor final class Locator {
      private var seal: Resolver<Place>?
      func place() -> Promise<Place> {
        Promise { seal in
          self.seal = seal
          radio.start()
        }
      }
      func didFind(_ place: Place) {
        seal?.fulfill(place)
        seal = nil
      }
      func didFail(_ error: Error) {
        seal?.reject(error)
        seal = nil
      }
    }
    """

  private static func locatorAfter(failing: String) -> String {
    """
    @MainActor final class Locator {
      private var waiting: CheckedContinuation<Place, Error>?
      func place() async throws -> Place {
        try await withCheckedThrowingContinuation { continuation in
          waiting = continuation
          radio.start()
        }
      }
      func didFind(_ place: Place) {
        waiting?.resume(returning: place)
        waiting = nil
      }
      func didFail(_ error: Error) {
        \(failing)
      }
    }
    """
  }

  private static let exportBefore = """
    import PromiseKit
    @MainActor final class Exporter {
      let queue = DispatchQueue(label: "export")
      func export(_ page: Page, _ url: URL) -> Promise<Void> {
        press.render(page).done(on: queue) { data in try data.write(to: url) }
      }
    }
    """

  private static let digestBefore = """
    import PromiseKit
    @MainActor func digest(_ data: Data) -> Guarantee<String> {
      DispatchQueue.global(qos: .utility).async(.promise) { sha.digest(data) }
    }
    """

  private static let roomBefore = """
    import Promises
    @MainActor func room(_ id: Int) -> Promise<Room> {
      hotel.room(id).validate { $0.isFree }.recover { error -> Promise<Room> in
        if case PromiseError.validationFailure = error { return Promise(HotelError.taken) }
        return Promise(error)
      }
    }
    """

  private static let greetBefore = """
    import Promises
    @MainActor func greet(_ name: String) -> Promise<Guest> {
      desk.find(name).then { guest in bell.ring(guest) }
    }
    """
}
