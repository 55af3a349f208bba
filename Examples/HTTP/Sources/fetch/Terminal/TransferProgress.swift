/// The progress of a batch of downloads at one moment.
struct TransferProgress: Sendable, Equatable {
  var filesDone = 0
  var filesFailed = 0
  var filesTotal: Int
  /// The number of bytes that have arrived, for all files.
  var bytesDone = 0
  /// The total size of all files in bytes, if all sizes are known.
  var bytesTotal: Int?
  /// The time since the batch started.
  var elapsed = Duration.zero
  /// The current speed, in bytes per second; nil to use the average so far.
  var speed: Int?

  /// The completed fraction, from 0 to 1: of the bytes if the total size is known, of the files
  /// otherwise; less than 1 while files are incomplete.
  var fraction: Double {
    guard filesTotal > 0 else { return 1 }
    let files = Double(filesDone + filesFailed) / Double(filesTotal)
    guard let bytesTotal, bytesTotal > 0 else { return min(1, files) }
    return min(files >= 1 ? 1 : 0.99, Double(bytesDone) / Double(bytesTotal))
  }

  /// The average speed so far, in bytes per second.
  var averageSpeed: Int? {
    let seconds = elapsed / .seconds(1)
    return seconds > 0 ? Int(exactly: (Double(bytesDone) / seconds).rounded()) : nil
  }

  /// The estimated time for the rest at the current speed, if it can be computed.
  var remaining: Duration? {
    guard let bytesTotal, bytesTotal >= bytesDone, let speed = speed ?? averageSpeed, speed > 0
    else { return nil }
    return .seconds(Double(bytesTotal - bytesDone) / Double(speed))
  }

  /// The progress as one line of a log, without a line break.
  var line: String { parts.joined(separator: "  ") }

  /// Returns the bar and the totals of all files, in less than `width` columns.
  ///
  /// The last column stays empty, so that the terminal never wraps the line. If there is little
  /// room, the least important parts are omitted.
  func bar(width: Int) -> String {
    let (room, shortestBar) = (max(0, width - 1), 12)
    var text = ""
    for part in parts {
      let longer = text.isEmpty ? part : text + "  " + part
      guard longer.count < room - shortestBar else { break }
      text = longer
    }
    if text.isEmpty { return String(parts[0].prefix(room)) }
    let length = min(40, room - text.count - 1) - 2
    let filled = Int(fraction * Double(length))
    let bar = String(repeating: "=", count: filled) + (filled < length ? ">" : "")
    return "[\(bar)\(String(repeating: " ", count: length - bar.count))] \(text)"
  }

  private var parts: [String] {
    let percentage = "\(Int(fraction * 100))%"
    var parts = [
      String(repeating: " ", count: 4 - percentage.count) + percentage,
      "\(filesDone)/\(filesTotal) files",
    ]
    if filesFailed > 0 { parts.append("\(filesFailed) failed") }
    let done = HumanReadable.bytes(bytesDone)
    parts.append(bytesTotal.map { "\(done) of \(HumanReadable.bytes($0))" } ?? done)
    if let speed = speed ?? averageSpeed { parts.append(HumanReadable.bytes(speed) + "/s") }
    if let remaining, remaining > .zero {
      parts.append("\(HumanReadable.duration(remaining)) left")
    }
    return parts
  }
}

/// Tracks how much has arrived, for each file.
struct ProgressBoard: Sendable {
  private var active: [String: (received: Int, size: Int?)] = [:]
  /// The files that have ended, those of them that failed, and the bytes and sizes of both.
  private var (ended, failed, endedBytes, endedSizes) = (0, 0, 0, 0)
  private let total: Int
  /// A moving average of the speed in bytes per second; the weight of a measurement halves about
  /// every second.
  private var speed: Double?
  /// The bytes since the last measurement.
  private var newBytes = 0
  private var lastMeasurement: Duration?

  init(fileCount: Int) { total = fileCount }

  /// Records that a response for a file has arrived, and how much of the file is present.
  mutating func start(_ name: String, received: Int, of size: Int?) {
    active[name] = (received, size)
  }

  /// Records that bytes have arrived.
  mutating func receive(_ name: String, count: Int) {
    active[name]?.received += count
    newBytes += count
  }

  /// Records that a download has ended; `byteCount` is nil if it failed.
  mutating func end(_ name: String, byteCount: Int?) {
    let file = active.removeValue(forKey: name)
    ended += 1
    if byteCount == nil { failed += 1 }
    endedBytes += byteCount ?? file?.received ?? 0
    endedSizes += byteCount ?? file?.size ?? file?.received ?? 0
  }

  /// Returns the progress at `elapsed`.
  mutating func reading(at elapsed: Duration) -> TransferProgress {
    let seconds = (elapsed - (lastMeasurement ?? elapsed)) / .seconds(1)
    if lastMeasurement == nil {
      lastMeasurement = elapsed
    } else if seconds >= 0.2 {
      let current = Double(newBytes) / seconds
      let weight = speed == nil ? 1 : min(1, seconds / 2)
      speed = (speed ?? 0) * (1 - weight) + current * weight
      (lastMeasurement, newBytes) = (elapsed, 0)
    }
    let files = active.values
    // The total is known only if all files have started and their sizes are known.
    let isKnown = ended + files.count == total && !files.contains { $0.size == nil }
    return TransferProgress(
      filesDone: ended - failed, filesFailed: failed, filesTotal: total,
      bytesDone: files.reduce(endedBytes) { $0 + $1.received },
      bytesTotal: isKnown ? files.reduce(endedSizes) { $0 + ($1.size ?? 0) } : nil,
      elapsed: elapsed, speed: speed.map { Int($0) })
  }
}
