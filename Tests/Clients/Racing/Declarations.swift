import Dispatch
import Pledge

/// Not `Sendable`: only code of one isolation can access it.
final class Model {
  var count = 0
}

struct Refused: Error, Equatable {}
actor Owner {}

@MainActor var title = ""

let number = Promise.value(1)
let numbers = Promise.value([1])
let nothing = Promise.value(())
let certain = Guarantee.value(1)
let limiter = Limiter(1)
let latest = Latest<Int>()
let scope = PromiseScope()
let table = RequestCoalescer<Int, Int>()
let resolver = Promise<Int>.withResolvers().resolver
let queue = DispatchQueue(label: "queue")
let owner = Owner()
