import Dispatch
import Pledge

nonisolated struct User: Sendable {
  var name = ""
  var age = 1
}

nonisolated func fetch(_ number: Int) -> Promise<Int> { .value(number) }
nonisolated func load(_ number: Int) async throws -> Int { number }
nonisolated func log(_ text: String) {}

@MainActor var title = ""
nonisolated let number = fetch(1)
nonisolated let user = Promise.value(User())
nonisolated let nothing = Promise.value(())
nonisolated let certain = Guarantee.value(1)
