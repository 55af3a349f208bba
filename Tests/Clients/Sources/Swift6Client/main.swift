import Dispatch
import Pledge

struct Refused: Error, Equatable {}

/// Not `Sendable`: only code of one isolation may touch it.
final class Model {
  var lines: [String] = []
}

@MainActor
final class Screen {
  let model = Model()
  var title = ""

  func load() -> Promise<Void> {
    var count = 0
    return Promise.value(3)
      .then { number in
        let doubled = number * 2
        return Promise.value("\(doubled)")
      }
      .map { text in
        MainActor.assertIsolated()
        self.title = text
        self.model.lines.append(text)
        count += 1
        return count
      }
      .done { number in
        MainActor.assertIsolated()
        self.model.lines.append("\(number)")
      }
      .recover { error in
        self.title = "\(error)"
      }
      .promise
      .finally { self.title += "." }
  }
}

actor Counter {
  private var total = 0

  func add(_ numbers: [Int]) -> Promise<Int> {
    Promise.all(numbers.map { Promise.value($0) })
      .map { values in
        self.assertIsolated()
        for value in values {
          self.total += value
        }
        return self.total
      }
      .get { _ in self.total += 1 }
      .map { _ in self.total }
  }
}

/// Inference: closures of several statements, shorthand members, key paths, function references.
func inference(_ promise: Promise<[Int]>) -> Promise<String> {
  @Sendable func describe(_ number: Int) -> Promise<String> { .value("\(number)") }
  return
    promise
    .map(\.count)
    .then { count in
      if count > 100 { throw Refused() }
      return .value(count + 1)
    }
    .compactMap { number in
      guard number > 0 else { return nil }
      return number
    }
    .recover { error in
      guard error is Refused else { throw error }
      return 0
    }
    .then(describe)
    .recover { _ in .value("none") }
    .finally { print("inferred") }
}

@MainActor
func fromAnywhere() async throws {
  let screen = Screen()
  try await screen.load().value
  precondition(screen.title == "6." && screen.model.lines == ["6", "1"], "\(screen.model.lines)")

  let (user, number) = try await Promise.all(Promise.value("ada"), Promise.value(7)).value
  precondition(user == "ada" && number == 7)
  try await Promise.value(1)
    .done(on: .main) { number in screen.title = "\(number)" }
    .value
  precondition(screen.title == "1")
}

try await fromAnywhere()
let total = try await Counter().add([1, 2, 3]).value
precondition(total == 7)
let text = try await inference(.value([1, 2])).value
precondition(text == "3")
let queue = DispatchQueue(label: "client")
try await Promise.value(1).done(on: queue) { _ in dispatchPrecondition(condition: .onQueue(queue)) }
  .value
print("Swift 6 client: handlers ran where they were written")
