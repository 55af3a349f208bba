import Dispatch
import Pledge

/// Not `Sendable`: only code of one isolation can access it.
final class Model { var count = 0 }

struct Refused: Error, Equatable {}
actor Owner {}

@MainActor var title = ""

let number = Promise.value(1)
let numbers = Promise.value([1])
let nothing = Promise.value(())
let certain = Guarantee.value(1)
let limiter = Limiter(1)
let latest = LatestOnly<Int>()
let scope = PromiseScope()
let table = RequestCoalescer<Int, Int>()
let resolver = Promise<Int>.withResolvers().resolver
let queue = DispatchQueue(label: "queue")
let owner = Owner()

func stored<Root, Property>(_ keyPath: KeyPath<Root, Property>) -> KeyPath<Root, Property> {
  keyPath
}

extension Int {
  var half: Int? { self / 2 }
  var isEven: Bool { self % 2 == 0 }
  subscript(model: Model) -> Int { model.count }
}

extension Model: Hashable {
  static func == (left: Model, right: Model) -> Bool { left === right }
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
