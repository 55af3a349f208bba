extension Pair {
  static let google: [Pair] = [
    Pair(
      "value and promise",
      """
      import Promises
      @MainActor func total(_ cart: Cart) -> Promise<Price> {
        prices(cart).then { list in tax(list) }.then { price -> Price in price.rounded }
      }
      func prices(_ cart: Cart) -> Promise<[Price]> { Promise([]) }
      func tax(_ list: [Price]) -> Promise<Price> { Promise(Price()) }
      """,
      """
      import Promises
      @MainActor func total(_ cart: Cart) async throws -> Price {
        let list = try await prices(cart)
        let price = try await tax(list)
        return price.rounded
      }
      func prices(_ cart: Cart) -> Promise<[Price]> { Promise([]) }
      func tax(_ list: [Price]) -> Promise<Price> { Promise(Price()) }
      """,
      finds: []),
    Pair(
      "always and catch",
      """
      import Promises
      @MainActor final class Sheet {
        func submit() {
          api.submit(form).then { receipt in self.show(receipt) }.catch { error in self.fail(error) }
            .always { self.unlock() }
        }
      }
      """,
      """
      @MainActor final class Sheet {
        func submit() {
          Task {
            defer { unlock() }
            do { show(try await api.submit(form)) } catch { fail(error) }
          }
        }
      }
      """,
      finds: []),
    Pair(
      "callback",
      """
      import Promises
      func scan() -> Promise<Code> {
        Promise { fulfill, reject in
          camera.scan { result in
            switch result {
            case .success(let code): fulfill(code)
            case .failure(let error): reject(error)
            }
          }
        }
      }
      """,
      """
      @MainActor func scan() async throws -> Code {
        try await withCheckedThrowingContinuation { continuation in
          camera.scan { result in
            continuation.resume(with: result)
          }
        }
      }
      """,
      finds: []),
    Pair(
      "all",
      """
      import Promises
      @MainActor func both() -> Promise<Summary> { all(first(), second()).then { a, b in Summary(a, b) } }
      """,
      """
      @MainActor func both() async throws -> Summary {
        async let a = first()
        async let b = second()
        let pair = try await (a, b)
        return Summary(pair.0, pair.1)
      }
      """,
      finds: []),
    Pair(
      "nonisolated",
      """
      import Promises
      final class Sheet {
        func submit() -> Promise<Void> { api.submit(form).then { receipt in self.label.text = receipt.id } }
      }
      """,
      """
      final class Sheet {
        func submit() async throws {
          let receipt = try await api.submit(form)
          label.text = receipt.id
        }
      }
      """,
      finds: [.executorChanged]),
    Pair(
      "catch passes its error on",
      """
      import Promises
      @MainActor func load() -> Promise<Void> { api.load().then { rows in table.show(rows) }.catch { log.error($0) } }
      """,
      """
      @MainActor func load() async throws {
        do { table.show(try await api.load()) } catch { log.error(error) }
      }
      """,
      finds: [.errorSwallowed]),
    Pair(
      "always on success only",
      """
      import Promises
      @MainActor func load() -> Promise<Rows> { api.load().always { gauge.end() } }
      """,
      """
      @MainActor func load() async throws -> Rows {
        let rows = try await api.load()
        gauge.end()
        return rows
      }
      """,
      finds: [.effectLost]),
    Pair(
      "background work on the main thread",
      """
      import Promises
      @MainActor func hash(_ file: File) -> Promise<Digest> {
        Promise(on: .global()) { sha.digest(file) }
      }
      """,
      """
      @MainActor func hash(_ file: File) async throws -> Digest { sha.digest(file) }
      """,
      finds: [.executorChanged]),
    Pair(
      "sequence",
      """
      import Promises
      @MainActor func both() -> Promise<Summary> { all(first(), second()).then { a, b in Summary(a, b) } }
      """,
      """
      @MainActor func both() async throws -> Summary {
        let a = try await first()
        return Summary(a, try await second())
      }
      """,
      finds: [.becameSequential]),
    Pair(
      "recovery lost",
      """
      import Promises
      @MainActor func name() -> Promise<String> { profile.name().recover { _ in fallback() } }
      func fallback() -> Promise<String> { Promise("") }
      """,
      """
      import Promises
      @MainActor func name() async throws -> String { try await profile.name() }
      func fallback() -> Promise<String> { Promise("") }
      """,
      finds: [.effectLost, .errorAdded, .errorChanged]),
  ]
}
