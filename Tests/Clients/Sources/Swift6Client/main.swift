import Dispatch
@_spi(DropIns) import Pledge

struct Refused: Error, Equatable {}

/// Not `Sendable`: only code of one isolation can access it.
final class Model { var lines: [String] = [] }

@MainActor final class Screen {
  let model = Model()
  var title = ""

  func load() -> Promise<Void> {
    var count = 0
    return Promise.value(3).then { number in
      let doubled = number * 2
      return Promise.value("\(doubled)")
    }.map { text in
      MainActor.assertIsolated()
      self.title = text
      self.model.lines.append(text)
      count += 1
      return count
    }.done { number in
      MainActor.assertIsolated()
      self.model.lines.append("\(number)")
    }.replaceError { error in self.title = "\(error)" }.promise.finally { self.title += "." }
  }
}

actor Counter {
  private var total = 0

  func add(_ numbers: [Int]) -> Promise<Int> {
    Promise.all(numbers.map { Promise.value($0) }).map { values in
      self.assertIsolated()
      for value in values { self.total += value }
      return self.total
    }.get { _ in self.total += 1 }.map { _ in self.total }
  }
}

/// Type inference with multistatement closures, shorthand members, key paths, and function
/// references.
func inference(_ promise: Promise<[Int]>) -> Promise<String> {
  @Sendable func describe(_ number: Int) -> Promise<String> { .value("\(number)") }
  return promise.map(\.count).then { count in
    if count > 100 { throw Refused() }
    return .value(count + 1)
  }.compactMap { number in
    guard number > 0 else { return nil }
    return number
  }.recover { error in
    guard error is Refused else { throw error }
    return .value(0)
  }.then(describe).recover { _ in .value("none") }.finally { print("inferred") }
}

@MainActor func fromAnywhere() async throws {
  let screen = Screen()
  try await screen.load().value
  precondition(screen.title == "6." && screen.model.lines == ["6", "1"], "\(screen.model.lines)")

  let (user, number) = try await Promise.all(Promise.value("ada"), Promise.value(7)).value
  precondition(user == "ada" && number == 7)
  try await Promise.value(1).done { @MainActor number in screen.title = "\(number)" }.value
  precondition(screen.title == "1")
}

func fetch(_ number: Int) -> Promise<Int> { .value(number + 1) }

/// Functions are passed by name, although the library's functions are overloaded.
func functionsByName() async throws {
  let text = try await Promise.value(1).then(fetch).map(String.init).value
  let sum = try await Promise.value([1, 2]).map { $0.reduce(0, +) }.value
  let numbers = try await Promise.all([1, 2].map(fetch)).value
  let (promise, resolver) = Promise<Int>.withResolvers()
  Promise.value(4).done(resolver.fulfill).catch(resolver.reject)
  let four = try await promise.value
  precondition(text == "2" && sum == 3 && numbers == [2, 3] && four == 4)
}

/// Guarantees have the operators of promises.
func guarantees() async throws {
  let (guarantee, resolver) = Guarantee<[Int]>.withResolvers()
  let sum: Guarantee<Int> = guarantee.then { numbers in
    Guarantee.all(numbers.map { Guarantee.value($0 * 2) })
  }.map { $0.reduce(0, +) }
  resolver.fulfill([1, 2])
  let six = await sum.value
  let all = try await Promise.all(Promise.value("a"), sum).value
  precondition(six == 6 && all == ("a", 6))
}

/// Closures of one expression can print a member of one of the values.
func tuples() async throws {
  struct User: Sendable { var name = "ada" }
  let user = Promise.value(User())
  let certain = Guarantee.value(User())
  @Sendable func note(_ values: Any...) {}
  try await Promise.all(user, user).done { a, b in note(a.name, b.name) }.value
  try await Promise.all(user, user, user).map { a, b, c in note(a.name) }.value
  try await Promise.all(user, user, user, user).done { a, b, c, d in note(d.name) }.value
  try await Promise.all(user, user, user, user, user, cancellingRest: true)
    .done { a, b, c, d, e in note(e.name) }.value
  try await Promise.all(user, certain).done { a, b in note(b.name) }.value
  try await Promise.all(certain, user, certain).done { a, b, c in note(c.name) }.value
  let numbers: Promise<(Int, String)> = .all(.value(1), .value("a"))
  let (one, text) = try await numbers.value
  precondition(one == 1 && text == "a")
}

/// `{ @MainActor in … }` is isolated to the main actor in every operator.
func onMain(_ screen: Screen) async throws {
  let failed = Promise<Int>.rejected(Refused())
  try await Promise.value([1, 2]).map { @MainActor numbers in
    screen.title = "\(numbers.count)"
    return numbers
  }.validate { @MainActor _ in screen.title == "2" }.tap { @MainActor _ in
    screen.title += "t"
  }.then { @MainActor numbers in
    screen.title += "\(numbers.count)"
    return Promise.value(1)
  }.finally { @MainActor in screen.title += "f" }.finallyThen { @MainActor in
    screen.title += "w"
    return Guarantee.value(())
  }.asVoid().value
  try await failed.recover { @MainActor _ in
    screen.title += "r"
    return .value(1)
  }.asVoid().value
  try await failed.recover(only: Refused.self) { @MainActor _ in
    screen.title += "o"
    return .value(1)
  }.asVoid().value
  _ = await failed.replaceError { @MainActor _ in
    screen.title += "v"
    return 1
  }.value
  try await failed.catch(only: Refused.self) { @MainActor _ in screen.title += "c" }.value
  await failed.catch { @MainActor _ in screen.title += "e" }.value
  try await Promise { @MainActor in screen.title += "i" }.value
  try await Promise.retry(.fixed(attempts: 1)) { @MainActor in
    screen.title += "y"
    return Promise.value(())
  }.value
  try await Limiter(1).run { @MainActor in
    screen.title += "l"
    return Promise.value(())
  }.value
  _ = try await Promise.all([1], concurrently: 1) { @MainActor number in
    screen.title += "a"
    return Promise.value(number)
  }.value
  let title = await screen.title
  precondition(title == "2t2fwrovceiyla", title)
}

/// Policies for plain asynchronous functions, without promises.
func plainAsync() async throws {
  @Sendable func load(_ number: Int) async throws -> Int { number }
  let one = try await retry(.fixed(attempts: 2)) { try await load(1) }
  let two = try await withTimeout(.seconds(60)) { try await load(2) }
  let three = try await withDeadline(.now + .seconds(60)) { try await load(3) }
  let four = try await Limiter(1).perform { try await load(4) }
  let five = try await RequestCoalescer<String, Int>().value(for: "a") { try await load(5) }
  let six = try await firstToSucceed({ throw Refused() }, { try await load(6) })
  let more = try await concurrentMap([7, 8], limit: 2) { try await load($0) }
  let nine = try await withResource(acquire: { 9 }, release: { _ in }) { try await load($0) }
  precondition([one, two, three, four, five, six] + more + [nine] == Array(1...9))
}

final class Label {
  var text = "a"
  var color: String?
}

/// Key paths in variables.
@MainActor func keyPathsOnTheMainActor(_ count: any KeyPath<String, Int> & Sendable) async throws {
  let texts: KeyPath<View, String> = \.label.text
  let color: KeyPath<View, String?> = \.label.color
  let views = Promise.value([View()])
  let text = try await Promise.value(View()).map(texts).map(count).value
  let all = try await views.map { @MainActor views in views.map { $0[keyPath: texts] } }.value
  let colors = try await views.map { @MainActor views in views.compactMap { $0[keyPath: color] } }
    .value
  let red = await Promise.value(View()).compactMap(color).replaceError { _ in "red" }.value
  precondition(text == 1 && all == ["a"] && colors.isEmpty && red == "red")
}

@MainActor final class View { let label = Label() }

try await fromAnywhere()
try await keyPathsOnTheMainActor(\.count)
try await onMain(Screen())
try await plainAsync()
try await policiesWithoutSendable()
try await functionsByName()
try await guarantees()
try await tuples()
let total = try await Counter().add([1, 2, 3]).value
precondition(total == 7)
let text = try await inference(.value([1, 2])).value
precondition(text == "3")
let queue = DispatchQueue(label: "client")
try await Promise.value(1).done(on: queue) { _ in dispatchPrecondition(condition: .onQueue(queue)) }
  .value
print("Swift 6 client: handlers ran where they were written")
