import Foundation

/// Runs random programs on several threads for a given time, and monitors memory and hangs.
package final class Soak: Sendable {
  package struct Summary: Sendable {
    package var programs: [String: Int] = [:]
    package var operations = 0
    package var elapsed = 0.0
    /// The heap in use after each round, when no program was running.
    package var heapBytes: [Int] = []
    package var failure: String?
  }

  private struct Activity {
    let seed: UInt64
    let program: Program
    let start: Date
  }

  private struct State {
    var summary = Summary()
    var nextSeed: UInt64
    var activities: [Activity?]
    var workersAtWork: Int
  }

  /// The number of rounds; after each one the threads rest, and nothing of a program is alive.
  private static let rounds = 30

  private let length: Double
  private let patience: Double
  private let watchesMemory: Bool
  private let firstSeed: UInt64
  private let state: Lock<State>

  /// Creates a soak of `seconds` on `threads` threads, starting with `seed`.
  ///
  /// A program that takes longer than `patience` seconds counts as hung. If `watchesMemory` is
  /// true, growing memory is a failure.
  package init(
    seconds: Double, threads: Int, seed: UInt64, patience: Double = 60, watchesMemory: Bool = true
  ) {
    length = seconds
    firstSeed = seed
    self.patience = patience
    self.watchesMemory = watchesMemory
    state = Lock(
      State(nextSeed: seed, activities: Array(repeating: nil, count: threads), workersAtWork: 0))
  }

  /// Runs the soak on this thread and others, and calls `report` with a line of progress from time
  /// to time.
  package func run(report: (String) -> Void) -> Summary {
    let start = Date()
    var nextReport = start
    for round in 1...Self.rounds {
      let end = start + length * Double(round) / Double(Self.rounds)
      work(until: end)
      guard !hasFailed else { break }
      let heap = heapAtRest()
      let summary = state.withLock { state in
        state.summary.heapBytes.append(heap)
        state.summary.elapsed = Date().timeIntervalSince(start)
        return state.summary
      }
      if Date() >= nextReport {
        report(summary.progress)
        nextReport += 10
      }
    }
    return state.withLock { state in
      state.summary.elapsed = Date().timeIntervalSince(start)
      if watchesMemory, state.summary.failure == nil {
        state.summary.failure = state.summary.complaintAboutMemory(threads: state.activities.count)
      }
      return state.summary
    }
  }

  private var hasFailed: Bool { state.withLock { $0.summary.failure != nil } }

  /// Lets the workers run until `end`, and watches for hangs.
  private func work(until end: Date) {
    let pause = min(1, max(0.01, length / Double(Self.rounds) / 20))
    let workers = state.withLock { state in
      state.workersAtWork = state.activities.count
      return state.activities.indices
    }
    for index in workers { Thread.detachNewThread { self.work(index, until: end) } }
    while state.withLock({ $0.workersAtWork }) > 0 {
      Thread.sleep(forTimeInterval: pause)
      if let hung = hungActivity() {
        return state.withLock { $0.summary.failure = "Hung for \(Int(patience)) s:\n\(hung)" }
      }
    }
  }

  /// Returns the heap in use after the threads have released the last programs.
  private func heapAtRest() -> Int {
    // A queue releases a block shortly after running it, and later on a busy machine. Therefore the
    // rest ends when nothing has been released for a while.
    let pause = min(0.02, length / Double(Self.rounds) / 100)
    var least = Memory.heapBytes()
    var pausesWithoutRelease = 0
    while pausesWithoutRelease < 10 {
      Thread.sleep(forTimeInterval: pause)
      let now = Memory.heapBytes()
      pausesWithoutRelease = now < least ? 0 : pausesWithoutRelease + 1
      least = min(least, now)
    }
    return least
  }

  private func hungActivity() -> String? {
    let activities = state.withLock { $0.activities.compactMap { $0 } }
    return activities.first { Date().timeIntervalSince($0.start) > patience }
      .map { "seed \($0.seed):\n\($0.program)" }
  }

  // MARK: Workers

  private func work(_ index: Int, until end: Date) {
    let comparison = Comparison()
    while Date() < end, !hasFailed {
      let seed = state.withLock { state in
        defer { state.nextSeed &+= 1 }
        return state.nextSeed
      }
      compare(seed, index, comparison)
    }
    state.withLock { state in
      state.activities[index] = nil
      state.workersAtWork -= 1
    }
  }

  private func compare(_ seed: UInt64, _ index: Int, _ comparison: Comparison) {
    let kinds = Program.Kind.allCases
    let kind = kinds[Int(seed % UInt64(kinds.count))]
    let program = Generator.program(kind, seed: seed)
    state.withLock { $0.activities[index] = Activity(seed: seed, program: program, start: Date()) }
    // Relative to the first seed, so that no two concurrent programs have the same number.
    let run = Int((seed &- firstSeed) % 1_000_000)
    let verdict = comparison.verdict(on: program, run: run)
    state.withLock { state in
      state.summary.programs["\(kind)", default: 0] += 1
      state.summary.operations += verdict.operationCount
    }
    guard !verdict.complaints.isEmpty else { return }
    // Shrinking takes long, but isn't a hang.
    state.withLock { $0.activities[index] = nil }
    let text = Self.explanation(program, seed, run, verdict.complaints, comparison)
    state.withLock { if $0.summary.failure == nil { $0.summary.failure = text } }
  }

  /// Returns the smallest program found that shows the same fault.
  private static func explanation(
    _ program: Program, _ seed: UInt64, _ run: Int, _ complaints: [String],
    _ comparison: Comparison
  ) -> String {
    // With threads, a fault shows only in some runs.
    let tries = program.kind == .sequential ? 1 : 300
    let end = Date(timeIntervalSinceNow: 120)
    func found(_ program: Program) -> [String] {
      for _ in 0..<tries where Date() < end {
        let complaints = comparison.verdict(on: program, run: run).complaints
        if !complaints.isEmpty { return complaints }
      }
      return []
    }
    let smallest = Shrinker { !found($0).isEmpty }.smallest(program)
    let last = found(smallest)
    return """
      seed \(seed), \(program.kind): \(complaints.joined(separator: "\n"))

      The smallest program found that fails:

      \(smallest)

      \(last.isEmpty ? "It failed once, and not again." : last.joined(separator: "\n"))
      """
  }
}

extension Soak.Summary {
  /// How much the heap in use may grow for each thread, in bytes.
  ///
  /// It isn't 0, because a queue can start another thread at any time, and because libdispatch keeps
  /// up to 1,024 continuations (80 KiB) for each thread of its pools, most of which fill slowly: of
  /// 907 KiB in use after 210,000 programs, 655 were continuations of ten threads.
  private static let heapTolerance = 256 << 10

  fileprivate func complaintAboutMemory(threads: Int) -> String? {
    // Queues and tasks use several threads even on one core.
    let threads = max(2, threads)
    guard let growth = Memory.growth(heapBytes), growth.bytes > Self.heapTolerance * threads else {
      return nil
    }
    return "The heap in use grew \(growth)."
  }

  fileprivate var progress: String {
    let count = programs.values.reduce(0, +)
    return "\(Int(elapsed)) s: \(count) programs, \((heapBytes.last ?? 0) >> 10) KiB in use"
  }
}

extension Soak.Summary: CustomStringConvertible {
  package var description: String {
    let kinds = programs.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
    let heap = Memory.growth(heapBytes).map { "\($0) after warm-up" } ?? "too short a run to tell"
    return """
      \(programs.values.reduce(0, +)) programs (\(kinds.joined(separator: ", ")))
      \(operations) operations, \(Int(elapsed)) s
      heap in use at rest: \(heap)
      """
  }
}
