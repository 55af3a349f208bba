/// Decides which thread takes the next step, and which value a load returns.
protocol Strategy: AnyObject {
  var name: String { get }
  /// Chooses one of the threads whose bit is set in `enabled`; `previous` took the last step and
  /// can continue, or is -1. Returns -1 if the run differs from the one that it replays.
  func chooseThread(step: Int, previous: Int, enabled: UInt64) -> Int
  /// Chooses one of `count` values, of which 0 is the latest.
  func chooseAge(_ count: Int) -> Int
  /// Prepares the next run; returns false if there is none.
  func advance() -> Bool
  /// Why a run couldn't be repeated, if so; the search can't continue then.
  var mismatch: String? { get }
}

extension Strategy {
  var mismatch: String? { nil }
}

/// How schedules are chosen.
package enum Search: Sendable {
  case exhaustive(bound: Int)
  case reduced(bound: Int)
  case random(seed: UInt64, stay: Int)
  case pct(seed: UInt64, depth: Int)
  case replay(Schedule)

  var strategy: any Strategy {
    switch self {
    case .exhaustive(let bound): Exhaustive(bound: bound, isReduced: false)
    case .reduced(let bound): Exhaustive(bound: bound, isReduced: true)
    case .random(let seed, let stay): Random(seed: seed, stay: stay)
    case .pct(let seed, let depth): PCT(seed: seed, depth: depth)
    case .replay(let schedule): Replay(schedule.decisions)
    }
  }
}

/// Follows a recorded schedule; after it ends, no thread is preempted.
final class Replay: Strategy {
  private let decisions: [Schedule.Decision]
  private var step = 0

  init(_ decisions: [Schedule.Decision]) { self.decisions = decisions }

  var name: String { "replay" }

  func chooseThread(step: Int, previous: Int, enabled: UInt64) -> Int {
    self.step = step
    if step < decisions.count { return decisions[step].thread }
    return previous >= 0 ? previous : Scheduler.preferred(enabled)
  }

  func chooseAge(_ count: Int) -> Int { step < decisions.count ? decisions[step].age : 0 }

  func advance() -> Bool { false }
}

struct SplitMix {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var bits = state
    bits = (bits ^ bits >> 30) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ bits >> 27) &* 0x94D0_49BB_1331_11EB
    return bits ^ bits >> 31
  }

  mutating func below(_ limit: Int) -> Int { Int(truncatingIfNeeded: next() >> 1) % limit }
}

/// Continues the running thread with probability `stay / (stay + 1)`, and otherwise chooses any
/// thread.
final class Random: Strategy {
  private var random: SplitMix
  private let seed: UInt64
  private let stay: Int

  init(seed: UInt64, stay: Int) {
    random = SplitMix(state: seed)
    (self.seed, self.stay) = (seed, stay)
  }

  var name: String { "random \(seed) \(stay)" }

  func chooseThread(step: Int, previous: Int, enabled: UInt64) -> Int {
    if previous >= 0, random.below(stay + 1) != 0 { return previous }
    var mask = enabled
    for _ in 0..<random.below(mask.nonzeroBitCount) { mask &= mask - 1 }
    return mask.trailingZeroBitCount
  }

  func chooseAge(_ count: Int) -> Int { random.below(4) == 0 ? random.below(count) : 0 }

  func advance() -> Bool { true }
}

/// Probabilistic concurrency testing by Burckhardt, Kothari, Musuvathi, and Nagarakatte: threads
/// have random priorities, and at `depth - 1` random steps the running thread's priority drops
/// below all others.
final class PCT: Strategy {
  private var random: SplitMix
  private let seed: UInt64
  private let depth: Int
  private var longest = 1
  private var priorities: [Int] = []
  private var changes: [Int] = []
  private var lowest = 0

  init(seed: UInt64, depth: Int) {
    random = SplitMix(state: seed)
    (self.seed, self.depth) = (seed, depth)
    draw()
  }

  var name: String { "pct \(seed) \(depth)" }

  private func draw() {
    priorities = (0..<maximumThreads).map { $0 + depth }
    for index in priorities.indices.dropLast() {
      priorities.swapAt(index, index + random.below(priorities.count - index))
    }
    changes = (1..<max(depth, 1)).map { _ in random.below(longest) }
    lowest = 0
  }

  func chooseThread(step: Int, previous: Int, enabled: UInt64) -> Int {
    if previous >= 0 {
      for (rank, change) in changes.enumerated() where change == step {
        priorities[previous] = rank
      }
    }
    var best = -1
    var mask = enabled
    while mask != 0 {
      let thread = mask.trailingZeroBitCount
      mask &= mask - 1
      if best < 0 || priorities[thread] > priorities[best] { best = thread }
    }
    // A thread that polls with time limits drops, too; otherwise it would poll forever.
    if Scheduler.timed & 1 << UInt64(best) != 0 {
      lowest -= 1
      priorities[best] = lowest
    }
    return best
  }

  func chooseAge(_ count: Int) -> Int { random.below(8) == 0 ? random.below(count) : 0 }

  func advance() -> Bool {
    longest = max(longest, Scheduler.stepCount)
    draw()
    return true
  }
}
