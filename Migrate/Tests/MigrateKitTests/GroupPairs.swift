extension Pair {
  /// Concurrent work for each element of a collection, whose results keep its order.
  static let groups: [Pair] = [
    Pair(
      "results in an array, by index", photosBefore,
      """
      @MainActor func photos(_ ids: [Int]) async throws -> [Photo] {
        try await withThrowingTaskGroup(of: (Int, Photo).self) { group in
          for (index, id) in ids.enumerated() {
            group.addTask { (index, try await shelf.photo(id)) }
          }
          var photos: [Photo?] = Array(repeating: nil, count: ids.count)
          for try await (index, photo) in group { photos[index] = photo }
          return photos.compactMap { $0 }
        }
      }
      """,
      finds: []),
    Pair(
      "results in a dictionary, by element", photosBefore,
      """
      @MainActor func photos(_ ids: [Int]) async throws -> [Photo] {
        try await withThrowingTaskGroup(of: (Int, Photo).self) { group in
          for id in ids {
            group.addTask { (id, try await shelf.photo(id)) }
          }
          var photos: [Int: Photo] = [:]
          while let (id, photo) = try await group.next() { photos[id] = photo }
          return ids.compactMap { photos[$0] }
        }
      }
      """,
      finds: []),
    Pair(
      "results in pairs, sorted", photosBefore,
      #"""
      @MainActor func photos(_ ids: [Int]) async throws -> [Photo] {
        try await withThrowingTaskGroup(of: (Int, Photo).self) { group in
          for index in ids.indices {
            group.addTask { (index, try await shelf.photo(ids[index])) }
          }
          return try await group.reduce(into: []) { $0.append($1) }
            .sorted { $0.0 < $1.0 }.map(\.1)
        }
      }
      """#,
      finds: []),
    Pair(
      "results in the order in which they arrive", photosBefore,
      """
      @MainActor func photos(_ ids: [Int]) async throws -> [Photo] {
        try await withThrowingTaskGroup(of: Photo.self) { group in
          for id in ids { group.addTask { try await shelf.photo(id) } }
          var photos: [Photo] = []
          for try await photo in group { photos.append(photo) }
          return photos
        }
      }
      """,
      finds: [.resultChanged]),
    Pair(
      "results sorted the wrong way", photosBefore,
      """
      @MainActor func photos(_ ids: [Int]) async throws -> [Photo] {
        try await withThrowingTaskGroup(of: (Int, Photo).self) { group in
          for (index, id) in ids.enumerated() {
            group.addTask { (index, try await shelf.photo(id)) }
          }
          var pairs: [(Int, Photo)] = []
          for try await pair in group { pairs.append(pair) }
          return pairs.sorted { $0.0 > $1.0 }.map { $0.1 }
        }
      }
      """,
      finds: [.resultChanged]),
    Pair(
      "errors of a group that isn't awaited", sendBefore,
      """
      @MainActor func send(_ all: [Letter]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for letter in all { group.addTask { try await post.send(letter) } }
        }
      }
      """,
      finds: [.errorSwallowed]),
    Pair(
      "group that is awaited", sendBefore,
      """
      @MainActor func send(_ all: [Letter]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for letter in all { group.addTask { try await post.send(letter) } }
          try await group.waitForAll()
        }
      }
      """,
      finds: []),
    Pair(
      "results and failures",
      """
      import PromiseKit
      @MainActor func probe(_ hosts: [Host]) -> Guarantee<Summary> {
        when(resolved: hosts.map { net.ping($0) }).map { Summary(hosts, $0) }
      }
      """,
      """
      @MainActor func probe(_ hosts: [Host]) async -> Summary {
        let results = await withTaskGroup(of: (Int, Result<Pong, Error>).self) { group in
          for (index, host) in hosts.enumerated() {
            group.addTask {
              do { return (index, .success(try await net.ping(host))) } catch {
                return (index, .failure(error))
              }
            }
          }
          var results: [Int: Result<Pong, Error>] = [:]
          for await (index, result) in group { results[index] = result }
          return hosts.indices.compactMap { results[$0] }
        }
        return Summary(hosts, results)
      }
      """,
      finds: []),
    Pair(
      "timeout", timeoutBefore,
      timeoutAfter("try await Task.sleep(for: .seconds(20))"), finds: []),
    Pair(
      "longer timeout", timeoutBefore,
      timeoutAfter("try await Task.sleep(for: .seconds(200))"), finds: [.argumentChanged]),
    Pair(
      "timeout with another error", timeoutBefore,
      timeoutAfter("try await Task.sleep(nanoseconds: 20_000_000_000)", "Late.upload"),
      finds: [.errorChanged]),
  ]

  private static let photosBefore = """
    import PromiseKit
    @MainActor func photos(_ ids: [Int]) -> Promise<[Photo]> {
      when(fulfilled: ids.map { shelf.photo($0) })
    }
    """

  private static let sendBefore = """
    import PromiseKit
    @MainActor func send(_ all: [Letter]) -> Promise<Void> {
      when(fulfilled: all.map { post.send($0) })
    }
    """

  private static let timeoutBefore = """
    import Promises
    @MainActor func upload(_ file: File) -> Promise<Key> {
      store.put(file).timeout(20).then { key in cache.key(file, key) }
    }
    """

  private static func timeoutAfter(
    _ pause: String, _ error: String = "PromiseError.timedOut"
  ) -> String {
    """
    @MainActor func upload(_ file: File) async throws -> Key {
      let key = try await limited { try await store.put(file) }
      return try await cache.key(file, key)
    }
    private func limited<T>(_ work: @escaping () async throws -> T) async throws -> T {
      try await withThrowingTaskGroup(of: T.self) { group in
        group.addTask { try await work() }
        group.addTask {
          \(pause)
          throw \(error)
        }
        defer { group.cancelAll() }
        return try await group.next()!
      }
    }
    """
  }
}
