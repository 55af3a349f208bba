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
  return [
    scenario("returned") { $0.returned(1) },
    scenario("passed") { $0.passed(1) },
    scenario("on the main queue") { $0.onMain(1) },
    scenario("always") { $0.always(1) },
    scenario("recover") { $0.recovered(1) },
    Scenario("Google: a closure that makes the promise") { world in
      let shapes = GoogleShapes(world)
      shapes.prepared(1)
      world.keep(shapes)
    },
    Scenario("Google: fire and forget") { GoogleShapes($0).fireAndForget(1) },
  ]
}
