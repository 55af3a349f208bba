import PromiseKit
import Support

// One function for each shape that is exact to convert.
final class Shapes {
  let world: World
  var busy = false

  init(_ world: World) { self.world = world }

  func returned(_ input: Int) -> Promise<Int> {
    world.log("head")
    return firstly {
      world.start(1, input)
    }.then { first in
      self.world.start(2, first)
    }.map { second in
      try self.world.compute(3, second)
    }
  }

  func withCleanup(_ input: Int) -> Promise<Int> {
    guard !busy else { return .value(0) }
    busy = true
    // The flag is reset in any case.
    return world.start(4, input).then { value -> Promise<Int> in
      // The second step needs the first.
      self.world.log("between")
      return self.world.start(5, value)
    }.ensure {
      self.busy = false
      self.world.log("ensured")
    }
  }

  func recovered(_ input: Int) -> Promise<Int> {
    return world.start(6, input).recover { error -> Promise<Int> in
      guard case Failure.broken = error else { throw error }
      self.world.log("recovering from \(error)")
      return self.world.start(7, input)
    }
  }

  func recoveredWithValue(_ input: Int) -> Promise<Int> {
    return world.start(8, input).recover(policy: .allErrors) { _ -> Promise<Int> in
      self.world.log("replaced")
      return .value(-1)
    }
  }

  func either(_ input: Int) -> Promise<Int> {
    return world.start(37, input).then { value -> Promise<Int> in
      self.world.log("either")
      return value > 3 ? .value(value) : self.world.start(38, value)
    }.map { max($0, 2) }
  }

  func elements(_ input: Int) -> Promise<[Int]> {
    return world.start(9, input).map { [$0, $0 + 1] }.mapValues { $0 * 2 }.thenMap { value in
      self.world.start(10, value)
    }
  }

  func done(_ input: Int) -> Promise<Void> {
    world.start(11, input).done { value in
      self.world.log("done \(value)")
    }
  }

  func nested(_ input: Int) -> Promise<String> {
    return world.start(12, input).then { outer in
      self.world.start(13, outer).map { inner in inner + 1 }
    }.get { value in
      self.world.log("got \(value)")
    }.asVoid().map { "nothing" }
  }

  func fireAndForget(_ input: Int) {
    world.start(14, input).then { value in
      self.world.start(15, value)
    }.done { value in
      self.world.log("shown \(value)")
    }.ensure {
      self.world.log("hidden")
    }.catch { error in
      self.world.log("failed \(error)")
    }.finally {
      self.world.log("finally")
    }
    world.log("after the chain")
  }

  func handlesCancellations(_ input: Int) {
    world.start(16, input).done { _ in self.world.log("done") }.catch(policy: .allErrors) {
      self.world.log("any error \($0)")
    }
  }

  func early(_ input: Int) {
    world.start(17, input).done { value in
      guard value % 2 == 0 else {
        self.world.log("odd")
        return
      }
      self.world.log("even")
    }.catch { error in
      self.world.log("failed \(error)")
    }
  }

  func weakly(_ input: Int) {
    world.start(18, input).done { [weak self] value in
      self?.world.log("value \(value)")
    }.catch { [weak self] error in
      self?.world.log("error \(error)")
    }
  }

  func together(_ input: Int) -> Promise<Int> {
    return when(fulfilled: world.start(19, input), world.start(20, input)).map { first, second in
      first + second
    }
  }

  func feedsResolver(_ input: Int) -> Promise<Int> {
    let (promise, seal) = Promise<Int>.pending()
    world.start(21, input).done { value in
      seal.fulfill(value)
    }.catch(policy: .allErrors) { error in
      seal.reject(error)
    }
    return promise
  }

  func logged(_ input: Int) {
    world.start(22, input).asVoid().cauterize()
  }

  func unhandled(_ input: Int) {
    _ = world.start(23, input)
    _ = world.start(24, input).done { self.world.log("unhandled \($0)") }
  }

  func functions(_ input: Int) -> Promise<Int> {
    return world.start(25, input).map(double)
  }

  func onQueue(_ input: Int) -> Promise<Int> {
    return world.start(27, input).then(on: world.queue) { first in
      self.world.start(28, first)
    }.map(on: world.queue) { second -> Int in
      self.world.log("second \(second)")
      guard second % 3 != 0 else { return 0 }
      return try self.world.compute(29, second)
    }
  }

  func onQueueWithCleanup(_ input: Int) {
    world.start(30, input).done(on: world.queue) { value in
      self.world.log("done \(value)")
    }.ensure(on: world.queue) {
      self.world.log("ensured")
    }.catch(on: world.queue) { error in
      self.world.log("failed \(error)")
    }.finally(on: world.queue) {
      self.world.log("finally")
    }
  }

  func feedsSeal(_ input: Int) -> Promise<Int> {
    return Promise { seal in
      world.start(31, input).done { value in
        seal.fulfill(value)
      }.catch(policy: .allErrors) { error in
        seal.reject(error)
      }
    }
  }

  func attempts(_ input: Int) -> Promise<Int> {
    var count = 0
    func attempt() -> Promise<Int> {
      count += 1
      return world.start(31 + count, input).recover { error -> Promise<Int> in
        guard count < 4 else { throw error }
        self.world.log("again")
        return attempt()
      }
    }
    return attempt()
  }

  func double(_ value: Int) throws -> Int { try world.compute(26, value) * 2 }
}

/// The shapes, ready to run.
public func shapes() -> [Scenario] {
  func scenario<T>(_ name: String, _ run: @escaping (Shapes) -> Promise<T>) -> Scenario {
    Scenario(name, result: { run(Shapes($0)) })
  }
  func effect(_ name: String, _ run: @escaping (Shapes) -> Void) -> Scenario {
    Scenario(name) { world in
      let shapes = Shapes(world)
      run(shapes)
      world.keep(shapes)
    }
  }
  return [
    scenario("returned") { $0.returned(1) },
    scenario("cleanup") { $0.withCleanup(1) },
    scenario("recover") { $0.recovered(1) },
    scenario("recover with a value") { $0.recoveredWithValue(1) },
    scenario("either") { $0.either(1) },
    scenario("either, at once") { $0.either(4) },
    scenario("elements") { $0.elements(1) },
    scenario("done") { $0.done(1) },
    scenario("nested") { $0.nested(1) },
    effect("fire and forget") { $0.fireAndForget(1) },
    effect("cancellations") { $0.handlesCancellations(1) },
    effect("early return") { $0.early(1) },
    effect("weak") { $0.weakly(1) },
    scenario("together") { $0.together(1) },
    scenario("resolver") { $0.feedsResolver(1) },
    effect("cauterize") { $0.logged(1) },
    effect("unhandled") { $0.unhandled(1) },
    scenario("functions") { $0.functions(1) },
    scenario("on a queue") { $0.onQueue(1) },
    scenario("on a queue, early") { $0.onQueue(4) },
    effect("on a queue, forgotten") { $0.onQueueWithCleanup(1) },
    scenario("seal") { $0.feedsSeal(1) },
    scenario("attempts") { $0.attempts(1) },
  ]
}
