/// One meaning that is written in several ways.
extension Pair {
  static let syntax: [Pair] =
    [
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
}
