import ArgumentParser
import Foundation
import MallocCounter
import OneCore

// Bodies run only in child processes, so that a crash affects one cell, peak memory belongs to one
// cell, and the effects of one workload don't slow down the next. Children report lines on standard
// output, which the parent parses.

/// Times all libraries for one workload and size, interleaved.
struct Rounds: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "child-rounds", shouldDisplay: false)
  @Option var workload: String
  @Option var size: Int
  @Option var timedRounds: Int
  @Option var library: [String] = []

  func run() throws {
    serve(workload) { registry, workload in
      let cells = library.compactMap { registry[workload.name, $0] }
      // Fast workloads get as many rounds as fit into this time, for a more stable median.
      let enough = Date.now + 2
      var round = 0
      while round <= timedRounds || (Date.now < enough && round <= 10 * timedRounds) {
        for cell in cells.shuffled() {
          say("start", cell.library)
          var total = 0.0
          let repeats = workload.repeats(size)
          for _ in 0..<repeats { total += Measurement.of(cell.body, size: size).nanoseconds }
          let perUnit = total / Double(repeats * workload.units(size))
          // The first round warms up caches, lazy globals, and threads.
          say(round == 0 ? "warm" : "time", cell.library, perUnit)
        }
        round += 1
      }
    }
  }
}

/// Counts the allocations and the peak memory of one cell.
struct Count: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "child-count", shouldDisplay: false)
  @Option var workload: String
  @Option var size: Int
  @Option var library: String

  func run() throws {
    serve(workload) { registry, workload in
      guard let cell = registry[workload.name, library] else { return }
      say("idle", library, peakResidentBytes())
      _ = Measurement.of(cell.body, size: min(size, 100))
      malloc_counter_set_enabled(true)
      let cost = Measurement.of(cell.body, size: size)
      malloc_counter_set_enabled(false)
      let units = Double(workload.units(size))
      say("allocations", library, Double(cost.allocations) / units)
      say("bytes", library, Double(cost.bytes) / units)
      say("peak", library, peakResidentBytes())
    }
  }
}

/// Runs one cell repeatedly, as a target for profilers.
struct RunCell: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cell",
    abstract: "Run one cell again and again, unmeasured, under a profiler say.")

  @Argument(help: "The name of a workload.") var workload: String
  @Argument(help: "The name of a library.") var library: String
  @Option(help: "The size; default: the workload's first.") var size: Int?
  @Option(help: "How often to run it.") var times = 1

  func run() throws {
    guard Workload[workload] != nil else { throw ValidationError("No workload '\(workload)'.") }
    serve(workload) { registry, workload in
      guard let cell = registry[workload.name, library] else { return }
      for _ in 0..<times { _ = Measurement.of(cell.body, size: size ?? cell.sizes[0]) }
    }
  }
}

/// Runs `work` on a new thread with the stack of the workload, while the main thread sleeps.
private func serve(
  _ name: String, _ work: @escaping @Sendable (Registry, Workload) -> Void
) -> Never {
  guard let workload = Workload[name] else { fatalError("there is no workload \(name)") }
  limitResources()
  if workload.isLockStep && !stay_on_this_core() {
    tell("\(name): cannot stay on one core; expect times that vary")
  }
  let thread = Thread {
    work(.everything(), workload)
    exit(0)
  }
  thread.stackSize = workload.stackSize
  thread.start()
  while true { sleep(.max) }
}

/// Limits the effect of a runaway cell on other processes.
private func limitResources() {
  #if os(Linux)
    var noCore = rlimit(rlim_cur: 0, rlim_max: 0)
    setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &noCore)
    var memory = rlimit(rlim_cur: 8 << 30, rlim_max: 8 << 30)
    setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &memory)
  #endif
}

private func say(_ event: String, _ library: String, _ value: any CustomStringConvertible = "") {
  FileHandle.standardOutput.write(Data("bench\t\(event)\t\(library)\t\(value)\n".utf8))
}
