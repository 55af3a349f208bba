import Dispatch
import Pledge

struct Refused: Error {}

final class Cache {
  var names: [String] = []

  func load() -> Promise<String> {
    return Promise.value(4)
      .map { number in
        let text = "\(number)"
        self.names.append(text)
        return text
      }
      .then { text in Promise.value(text + "!") }
  }
}

@MainActor
final class ViewController {
  var title = ""

  func refresh() -> Promise<Void> {
    Promise<Int>.rejected(Refused())
      .map { $0 + 1 }
      .replaceError { _ in 5 }
      .done { number in
        MainActor.assertIsolated()
        self.title = "\(number)"
      }
      .promise
  }
}

extension Cache {
  /// The policies with a cache that isn't `Sendable`.
  func loadWithPolicies() async throws -> [String] {
    var attempts = 0
    let retried = try await retry(.fixed(attempts: 2, delay: .milliseconds(0))) {
      attempts += 1
      self.names.append("retried")
      if attempts == 1 { throw Refused() }
      return self
    }
    let limited = try await Limiter(1).perform { retried }
    let used = await withResource(acquire: { limited }, release: { $0.names.append("end") }) { $0 }
    return used.names
  }
}

let names = try await Cache().loadWithPolicies()
precondition(names == ["retried", "retried", "end"])
let cache = Cache()
let name = try await cache.load().value
precondition(name == "4!")
let controller = ViewController()
try await controller.refresh().value
let title = controller.title
precondition(title == "5")
print("Swift 5 client: handlers ran where they were written")
