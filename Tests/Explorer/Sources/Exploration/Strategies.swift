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

package enum Search: Sendable {
  case exhaustive(bound: Int)
  case reduced(bound: Int)
  case random(seed: UInt64, stay: Int)
  case replay(Schedule)

  var strategy: any Strategy {
    switch self {
    case .exhaustive(let bound): Exhaustive(bound: bound, isReduced: false)
    case .reduced(let bound): Exhaustive(bound: bound, isReduced: true)
    case .random(let seed, let stay): Random(seed: seed, stay: stay)
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
