import Dispatch
import Pledge

struct Refused: Error {}

final class Cache {
  var names: [String] = []

  func load() -> Promise<String> {
    Promise.value(4).map { number in
      let text = "\(number)"
      self.names.append(text)
      return text
    }.then { text in Promise.value(text + "!") }
  }
}

@MainActor final class ViewController {
  var title = ""

  func refresh() -> Promise<Void> {
    Promise<Int>.rejected(Refused()).map { $0 + 1 }.replaceError { _ in 5 }.done { number in
      MainActor.assertIsolated()
      self.title = "\(number)"
    }.promise
  }
}

try await policiesWithoutSendable()
let name = try await Cache().load().value
precondition(name == "4!")
let controller = ViewController()
try await controller.refresh().value
precondition(controller.title == "5")
print("Swift 5 client: handlers ran where they were written")
