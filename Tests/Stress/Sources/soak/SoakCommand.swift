import ArgumentParser
import Foundation
import PledgeDiagnostics
import StressKit

@main
struct SoakCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "soak",
    abstract: "Compares Pledge with a simple reference on random programs, for a long time.",
    discussion: """
      Runs on all cores: random programs on Pledge and on the reference, and threads that settle, \
      observe, adopt, cancel and drop the same promise. A difference is printed as the smallest \
      program that shows it, with its seed. What takes too long is printed as hung.

      The heap in use (allocated and not freed) is sampled 30 times, while no program runs. The \
      first third of the samples is the warm-up; of the rest, the least of the last quarter may \
      exceed the least of the first quarter by 256 KiB for each thread, and by 512 KiB with one \
      thread.

      Exit status: 0 if all is well, 1 if not, 64 for bad usage.
      """)

  @Option(help: "For how many minutes.")
  var minutes = 1.0
  @Option(help: "The first seed; the same seeds make the same programs.")
  var seed: UInt64 = 1
  @Option(help: "How many threads; as many as there are cores if not given.")
  var threads = ProcessInfo.processInfo.activeProcessorCount
  @Option(help: "After how many seconds one program counts as hung.")
  var patience = 60.0
  @Flag(inversion: .prefixedNo, help: "Whether memory that grows counts as a failure.")
  var memory = true
  @Flag(help: "Record all promises, with source locations, while the programs run.")
  var trace = false
  @Option(help: .hidden)
  var plant: PlantedFault?

  /// Restarts the program without the caches of glibc's allocator.
  ///
  /// Each thread has one, and the heap in use includes it: it would grow with each thread that a queue
  /// starts.
  private func restartWithoutAllocatorCaches() {
    #if os(Linux)
      guard getenv("GLIBC_TUNABLES") == nil else { return }
      setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 1)
      execv("/proc/self/exe", CommandLine.unsafeArgv)
      say("The heap in use includes the allocator's caches: \(String(cString: strerror(errno))).")
    #endif
  }

  func validate() throws {
    guard minutes > 0, minutes.isFinite else {
      throw ValidationError("--minutes must be a positive number, not \(minutes).")
    }
    guard (1...1000).contains(threads) else {
      throw ValidationError("--threads must be from 1 to 1000, not \(threads).")
    }
    guard patience > 0, patience.isFinite else {
      throw ValidationError("--patience must be a positive number of seconds, not \(patience).")
    }
  }

  func run() throws {
    if let plant { return plant.commit() }
    restartWithoutAllocatorCaches()
    say("\(minutes) minutes on \(threads) threads, seeds from \(seed)")
    let soak = Soak(
      seconds: minutes * 60, threads: threads, seed: seed, patience: patience,
      watchesMemory: memory)
    let trace = self.trace ? Trace.start() : nil
    let summary = soak.run { say($0) }
    if let trace {
      trace.stop()
      say("Recorded: \(trace.count) promises at the end; forgotten: \(trace.forgotten)")
      if trace.count == 0 {
        say("FAILED: the trace recorded nothing.")
        throw ExitCode(1)
      }
    }
    // A queue releases a block shortly after running it; only a leak remains.
    Thread.sleep(forTimeInterval: 0.3)
    say(summary.description)
    guard let failure = summary.failure else { return say("No difference found.") }
    say("FAILED\n\(failure)")
    throw ExitCode(1)
  }

  /// Writes without buffering, even if the output isn't a terminal.
  private func say(_ text: String) { FileHandle.standardOutput.write(Data("\(text)\n".utf8)) }
}
