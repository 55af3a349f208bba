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

  /// Whether samples, taken at equal distances, are those of a process that does not grow.
  ///
  /// The first third is the warm-up. Of the rest, the median of the last quarter may exceed that of
  /// the first quarter by a tenth, or by 8 MiB if that is more. Medians, because single samples
  /// catch programs in flight.
  static func growth(_ samples: [Int]) -> (from: Int, to: Int, isFlat: Bool)? {
    let settled = Array(samples[(samples.count / 3)...])
    guard settled.count >= 4 else { return nil }
    let quarter = settled.count / 4
    let from = median(settled.prefix(quarter))
    let to = median(settled.suffix(quarter))
    return (from, to, to - from <= max(from / 10, 8 << 20))
  }

  private static func median(_ samples: ArraySlice<Int>) -> Int {
    let sorted = samples.sorted()
    return sorted[sorted.count / 2]
  }
}
