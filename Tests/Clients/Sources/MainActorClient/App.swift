import Pledge

/// Not marked with anything: all of this module is on the main actor.
final class App {
  var log: [String] = []

  func start() -> Promise<Int> {
    var steps = 0
    return Promise.value("a")
      .get { text in
        MainActor.assertIsolated()
        steps += 1
        self.log.append(text)
      }
      .then { text in
        steps += 1
        return Promise.value(text + "b")
      }
      .map { text in
        self.log.append(text)
        return steps
      }
  }
}

@main
struct Main {
  static func main() async throws {
    let app = App()
    let steps = try await app.start().value
    precondition(steps == 2 && app.log == ["a", "ab"])
    print("Main actor client: handlers ran where they were written")
  }
}
