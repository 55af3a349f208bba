import Dispatch
import Pledge

struct User: Sendable {
  var name = ""
  var age = 1
}

func fetch(_ number: Int) -> Promise<Int> { .value(number) }
func load(_ number: Int) async throws -> Int { number }

@MainActor var title = ""
let number = fetch(1)
let user = Promise.value(User())
let nothing = Promise.value(())
let certain = Guarantee.value(1)
