import Dispatch
import Foundation
import MallocCounter

/// The total cost of one call of a body.
struct Measurement: Sendable {
  var nanoseconds = 0.0
  var allocations = 0
  var bytes = 0

  /// Measures the creation of `count` objects that are kept alive.
  ///
  /// The array is allocated before, so only the objects count. `bytes` is the memory in use while
  /// all of them are alive.
  static func keeping<Object>(_ count: Int, _ make: () -> Object) -> Measurement {
    var kept: [Object] = []
    kept.reserveCapacity(count)
    let result = measure { for _ in 0..<count { kept.append(make()) } }
    consume(kept)
    return result.measurement(bytes: \.live_bytes)
  }

  static func of(_ body: Registry.Body, size: Int) -> Measurement {
    switch body {
    case .sync(let body): return measure { body(size) }.measurement(bytes: \.bytes)
    case .async(let body):
      let slot = Slot(Measurement())
      let done = DispatchSemaphore(value: 0)
      Task.detached {
        let before = Reading()
        await body(size)
        slot.value = (Reading() - before).measurement(bytes: \.bytes)
        done.signal()
      }
      done.wait()
      return slot.value
    case .pending(let body): return body(size)
    }
  }

  private static func measure(_ work: () -> Void) -> Reading {
    let before = Reading()
    work()
    return Reading() - before
  }
}

/// The clock and the counters at one moment, or the difference between two moments.
private struct Reading {
  var counts = malloc_counter_read()
  var time = Int(DispatchTime.now().uptimeNanoseconds)

  static func - (after: Reading, before: Reading) -> Reading {
    var difference = after
    difference.time -= before.time
    difference.counts.allocations -= before.counts.allocations
    difference.counts.bytes -= before.counts.bytes
    difference.counts.live_bytes -= before.counts.live_bytes
    return difference
  }

  func measurement(bytes: KeyPath<malloc_counts, Int64>) -> Measurement {
    Measurement(
      nanoseconds: Double(time), allocations: Int(counts.allocations),
      bytes: Int(counts[keyPath: bytes]))
  }
}

/// Returns the peak memory of this process, in bytes.
///
/// Linux passes a parent's `ru_maxrss` on to the programs that it starts, so on Linux the peak
/// comes from the process's own address space.
func peakResidentBytes() -> Int {
  #if os(Linux)
    let status = (try? String(contentsOfFile: "/proc/thread-self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    return (line.flatMap { Int($0.filter(\.isNumber)) } ?? 0) * 1024
  #else
    var usage = rusage()
    getrusage(RUSAGE_SELF, &usage)
    return Int(usage.ru_maxrss)
  #endif
}
