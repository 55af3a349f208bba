/// One meaning that is written in several ways.
extension Pair {
  static let syntax: [Pair] =
    [
      "guard case let page? = cache.page(id) else",
      "guard case .some(let page) = cache.page(id) else",
      "guard case let .some(page) = cache.page(id) else",
      "guard case let Optional.some(page) = cache.page(id) else",
    ].map { Pair("optional pattern: \($0)", openBefore, openAfter($0), finds: []) } + [
      Pair(
        "optional pattern of if", openBefore,
        """
        @MainActor func open(_ id: Int) async throws -> Page {
          if case let page? = cache.page(id) {
            log.write(page)
            return page
          }
          return try await net.page(id)
        }
        """,
        finds: []),
      Pair(
        "optional patterns of switch", openBefore,
        """
        @MainActor func open(_ id: Int) async throws -> Page {
          switch cache.page(id) {
          case let page?:
            log.write(page)
            return page
          case nil:
            return try await net.page(id)
          }
        }
        """,
        finds: []),
      Pair(
        "patterns of switch over an optional value", openBefore,
        """
        @MainActor func open(_ id: Int) async throws -> Page {
          switch cache.page(id) {
          case .none: return try await net.page(id)
          case .some(let page):
            log.write(page)
            return page
          }
        }
        """,
        finds: []),
      Pair(
        "optional patterns of switch swapped", openBefore,
        """
        @MainActor func open(_ id: Int) async throws -> Page {
          switch cache.page(id) {
          case nil:
            let page = cache.page(id)
            log.write(page)
            return page
          case _?:
            return try await net.page(id)
          }
        }
        """,
        finds: [.effectLost, .effectAdded, .resultChanged]),
      Pair(
        "optional pattern of while",
        """
        import PromiseKit
        @MainActor func drain() -> Promise<Void> {
          while let job = queue.pop() { log.write(job) }
          return net.flush()
        }
        """,
        """
        @MainActor func drain() async throws {
          while case let job? = queue.pop() { log.write(job) }
          try await net.flush()
        }
        """,
        finds: []),
    ]
    + [
      "enum Network { static func get(_ number: Int) -> Promise<Row> { load(number) } }",
      "enum Network {}",
      "import Client",
    ].map { declaration in
      Pair(
        "function of a type with the name of an operator: \(declaration)",
        """
        import PromiseKit
        \(declaration)
        @MainActor func row(_ number: Int) -> Promise<Row> {
          return Network.get(number)
        }
        @MainActor func rows(_ number: Int) -> Promise<Row> {
          firstly { Network.get(number) }.get { log.write($0) }
        }
        """,
        """
        \(declaration)
        @MainActor func row(_ number: Int) async throws -> Row {
          try await Network.get(number)
        }
        @MainActor func rows(_ number: Int) async throws -> Row {
          let row = try await Network.get(number)
          log.write(row)
          return row
        }
        """,
        finds: [])
    } + [
      Pair(
        "method of a value with the name of an operator",
        """
        import PromiseKit
        final class Feed: UIViewController {
          let client: Client
          let store = Store()
          func row(_ number: Int) -> Promise<Row> { client.get(number) }
          func undo(_ change: Change) -> Promise<Row> { return store.recover(change) }
        }
        """,
        """
        final class Feed: UIViewController {
          let client: Client
          let store = Store()
          func row(_ number: Int) async throws -> Row { try await client.get(number) }
          func undo(_ change: Change) async throws -> Row { try await store.recover(change) }
        }
        """,
        finds: []),
      Pair(
        "other function of a type with the name of an operator",
        """
        import PromiseKit
        @MainActor func row(_ number: Int) -> Promise<Row> { Network.get(number) }
        """,
        """
        @MainActor func row(_ number: Int) async throws -> Row { try await Network.load(number) }
        """,
        finds: [.callReplaced, .effectLost]),
      Pair(
        "operators of a promise under another name",
        """
        import PromiseKit
        typealias Response<T> = Promise<T>
        @MainActor func row(_ response: Response<Row>) -> Promise<Row> { response.get(show) }
        """,
        """
        typealias Response<T> = Promise<T>
        @MainActor func row(_ response: Response<Row>) async throws -> Row {
          let row = try await response.value
          show(row)
          return row
        }
        """,
        finds: []),
    ]

  private static let openBefore = """
    import PromiseKit
    @MainActor func open(_ id: Int) -> Promise<Page> {
      guard let page = cache.page(id) else { return net.page(id) }
      log.write(page)
      return .value(page)
    }
    """

  private static func openAfter(_ condition: String) -> String {
    """
    @MainActor func open(_ id: Int) async throws -> Page {
      \(condition) { return try await net.page(id) }
      log.write(page)
      return page
    }
    """
  }
}
