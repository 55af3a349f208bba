import Dispatch
import Promises
import Support

// The same for Google's library.
final class GoogleShapes {
  let world: World

  init(_ world: World) { self.world = world }

  func returned(_ input: Int) -> Promise<Int> {
    world.log("head")
    return world.begin(1, input).then { first -> Promise<Int> in
      self.world.log("first \(first)")
      return self.world.begin(2, first)
    }.then { second -> Int in
      try self.world.compute(3, second)
    }
  }

  func passed(_ input: Int) -> Promise<Int> {
    return world.begin(4, input).then { value in
      self.world.log("seen \(value)")
    }.catch { error in
      self.world.log("caught \(error)")
    }
  }

  func onMain(_ input: Int) -> Promise<Int> {
    return world.begin(9, input).then(on: .main) { first in
      self.world.begin(10, first)
    }.then(on: DispatchQueue.main) { second -> Int in
      self.world.log("second \(second)")
      return try self.world.compute(11, second)
    }
  }

  func always(_ input: Int) -> Promise<Int> {
    return world.begin(5, input).always {
      self.world.log("always")
    }
  }

  func recovered(_ input: Int) -> Promise<Int> {
    return world.begin(6, input).recover { error -> Promise<Int> in
      self.world.log("recovering from \(error)")
      return self.world.begin(7, input)
    }
  }

  func prepared(_ input: Int) {
    Promise { [weak self] in
      guard let self else { return }
      self.world.log("prepared \(try self.world.compute(12, input))")
    }.then(on: .main) {
      self.world.log("shown")
    }.catch(on: .main) { error in
      self.world.log("failed \(error)")
    }
  }

  func onQueue(_ input: Int) -> Promise<Int> {
    return world.begin(13, input).then(on: world.queue) { first -> Promise<Int> in
      self.log("first \(first)")
      return self.world.begin(14, first).then(on: self.world.queue) { $0 + 1 }
    }.then(on: world.queue) { second in
      self.log("second \(second)")
    }.catch(on: world.queue) { error in
      self.log("caught \(error)")
    }
  }

  func early(_ input: Int) -> Promise<Int> {
    world.begin(15, input).then(on: world.queue) { value -> Promise<Int> in
      guard value % 3 != 0 else { return Promise(0) }
      if value % 2 == 0 {
        self.log("even")  // The usual case.
        return self.world.begin(16, value)
      }
      return self.world.begin(17, value)
    }
  }

  func onQueueAndForget(_ input: Int) {
    world.begin(18, input).then(on: world.queue) { [weak self] value in
      guard let self else { return }
      self.log("shown \(value)")
    }.catch(on: world.queue) { [weak self] error in
      self?.log("failed \(error)")
    }
    log("after the chain")
  }

  func continued(_ input: Int) async throws -> Int {
    try await withCheckedThrowingContinuation { continuation in
      world.begin(19, input).then(on: world.queue) { value in
        continuation.resume(returning: value)
      }.catch(on: world.queue) { error in
        continuation.resume(throwing: error)
      }
    }
  }

  func both(_ input: Int) {
    world.begin(20, input).then(on: world.queue) { value in
      self.log("first \(value)")
    }
    world.begin(21, input).then(on: world.queue) { value in
      self.log("second \(value)")
    }
  }

  func recoveredQuietly(_ input: Int) -> Promise<Void> {
    world.begin(22, input).then(on: world.queue) { value -> Void in
      self.log("first \(value)")
    }.recover(on: world.queue) { error in
      self.log("ignored \(error)")
    }
  }

  private func log(_ text: String) { world.log(text) }

  func fireAndForget(_ input: Int) {
    world.begin(8, input).then { value in
      self.world.log("shown \(value)")
    }.catch { error in
      self.world.log("failed \(error)")
    }
    world.log("after the chain")
  }
}

/// The shapes, ready to run.
public func googleShapes() -> [Scenario] {
  func scenario(_ name: String, _ run: @escaping (GoogleShapes) -> Promise<Int>) -> Scenario {
    Scenario("Google: " + name, googleResult: { run(GoogleShapes($0)) })
  }
  func effect(_ name: String, _ run: @escaping (GoogleShapes) -> Void) -> Scenario {
    Scenario("Google: " + name) { world in
      let shapes = GoogleShapes(world)
      run(shapes)
      world.keep(shapes)
    }
  }
  return [
    scenario("returned") { $0.returned(1) },
    scenario("passed") { $0.passed(1) },
    scenario("on the main queue") { $0.onMain(1) },
    scenario("always") { $0.always(1) },
    scenario("recover") { $0.recovered(1) },
    effect("a closure that makes the promise") { $0.prepared(1) },
    scenario("on a queue") { $0.onQueue(1) },
    Scenario(
      "Google: recover with nothing", googleResult: { GoogleShapes($0).recoveredQuietly(1) }),
    scenario("early") { $0.early(1) },
    scenario("early, even") { $0.early(2) },
    scenario("early, a third") { $0.early(3) },
    effect("on a queue, forgotten") { $0.onQueueAndForget(1) },
    effect("two chains on a queue") { $0.both(1) },
    effect("continuation") { shapes in
      Task { @MainActor in
        do {
          shapes.world.log("continued \(try await shapes.continued(1))")
        } catch {
          shapes.world.log("continued after \(error)")
        }
      }
    },
    Scenario("Google: fire and forget") { GoogleShapes($0).fireAndForget(1) },
  ]
}
