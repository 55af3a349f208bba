import After
import Before
import Dispatch
import Foundation
import Support

/// Runs a scenario until nothing more happens, and returns what it recorded.
@MainActor
func record(_ scenario: Scenario, seed: UInt64, rounds: Int) async -> [String] {
  let world = World(seed: seed)
  scenario.run(world)
  var quiet = 0
  var last = -1
  while quiet < rounds {
    // A turn of the threads of Swift concurrency, the global queue, and the main queue, in which the
    // next step can run.
    await Task.detached {}.value
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async { DispatchQueue.main.async { continuation.resume() } }
    }
    let count = world.recorded.count
    quiet = world.isIdle && count == last ? quiet + 1 : 0
    last = count
  }
  return world.recorded
}

@main struct Compare {
  @MainActor
  static func main() async {
    let seeds = UInt64(CommandLine.arguments.dropFirst().first ?? "") ?? 24
    let before = Before.shapes() + Before.googleShapes() + Before.generated()
    let after = After.shapes() + After.googleShapes() + After.generated()
    var runs = 0
    var differences = 0
    for (old, new) in zip(before, after) {
      for seed in 1...seeds {
        var first = await record(old, seed: seed, rounds: 30)
        var second = await record(new, seed: seed, rounds: 30)
        runs += 1
        if first != second {
          // On a busy machine, a step can take longer than the rounds.
          first = await record(old, seed: seed, rounds: 2000)
          second = await record(new, seed: seed, rounds: 2000)
        }
        if first != second {
          differences += 1
          print("\(old.name), seed \(seed):\n  before \(first)\n  after  \(second)")
        }
      }
    }
    print("\(before.count) functions, \(runs) runs of each version, \(differences) differences")
    exit(differences == 0 ? 0 : 1)
  }
}
