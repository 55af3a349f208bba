import CHeap
import Foundation

/// How much memory the process takes.
enum Memory {
  /// The resident set, in bytes.
  static func residentBytes() -> Int {
    #if os(Linux)
      let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
      let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
      return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    #else
      var info = mach_task_basic_info()
      var count = mach_msg_type_number_t(
        MemoryLayout<mach_task_basic_info>.size / MemoryLayout<natural_t>.size)
      let status = withUnsafeMutablePointer(to: &info) { pointer in
        pointer.withMemoryRebound(to: integer_t.self, capacity: Int(count)) {
          task_info(mach_task_self_, task_flavor_t(MACH_TASK_BASIC_INFO), $0, &count)
        }
      }
      return status == KERN_SUCCESS ? Int(info.resident_size) : 0
    #endif
  }

  /// What was allocated and not freed, in bytes; 0 where the system does not tell.
  static func heapBytes() -> Int { Int(heap_bytes_in_use()) }

  /// How samples, taken at equal distances, grow.
  ///
  /// The first third is the warm-up. Of the rest, the least of the last quarter is compared with the
  /// least of the first. A leak is in every sample that follows it, and so in the least one; what
  /// goes up and down with the load of the machine (programs in flight, threads of the queues, and
  /// what the allocator keeps at hand for each) is not.
  static func growth(_ samples: [Int]) -> Growth? {
    let settled = Array(samples[(samples.count / 3)...])
    guard settled.count >= 4 else { return nil }
    let quarter = settled.count / 4
    guard let first = settled.prefix(quarter).min(), let last = settled.suffix(quarter).min() else {
      return nil
    }
    return Growth(from: first, to: last)
  }
}

/// From how many bytes to how many.
struct Growth: CustomStringConvertible {
  let from: Int
  let to: Int

  var bytes: Int { to - from }
  var description: String { "from \(from >> 10) to \(to >> 10) KiB" }
}
