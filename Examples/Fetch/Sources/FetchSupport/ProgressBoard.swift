/// Tracks how much has arrived, for each file.
public struct ProgressBoard: Sendable {
  private struct File: Sendable {
    var received = 0
    /// The size in bytes, if it is known.
    var size: Int?
  }

  /// An exponential moving average of the speed; the weight of a measurement halves about every
  /// second.
  private struct Speed: Sendable {
    private var count = 0
    private var value: Double?
    private var last: Duration?

    mutating func add(_ count: Int) { self.count += count }

    mutating func look(at now: Duration) {
      guard let last else {
        self.last = now
        return
      }
      let seconds = (now - last) / .seconds(1)
      guard seconds >= 0.2 else { return }
      let current = Double(count) / seconds
      let weight = value == nil ? 1 : min(1, seconds / 2)
      value = (value ?? 0) * (1 - weight) + current * weight
      (self.last, count) = (now, 0)
    }

    var bytesPerSecond: Int? { value.map { Int($0) } }
  }

  private var active: [String: File] = [:]
  private var speed = Speed()
  /// The files that have ended, and those of them that failed.
  private var (ended, failed) = (0, 0)
  /// The bytes that have arrived for the files that have ended, and their sizes.
  private var (endedBytes, endedSizes) = (0, 0)
  private let total: Int

  /// Creates a board for `count` files.
  public init(fileCount count: Int) { total = count }

  /// Records that a response for a file has arrived, and how much of the file is present.
  public mutating func start(_ name: String, received: Int, of size: Int?) {
    active[name] = File(received: received, size: size)
  }

  /// Records that bytes have arrived.
  public mutating func receive(_ name: String, count: Int) {
    active[name]?.received += count
    speed.add(count)
  }

  /// Records that a download has ended; `byteCount` is nil if it failed.
  public mutating func end(_ name: String, byteCount: Int?) {
    let file = active.removeValue(forKey: name)
    ended += 1
    if byteCount == nil { failed += 1 }
    endedBytes += byteCount ?? file?.received ?? 0
    endedSizes += byteCount ?? file?.size ?? file?.received ?? 0
  }

  /// Returns the progress at `elapsed`.
  public mutating func reading(at elapsed: Duration) -> TransferProgress {
    speed.look(at: elapsed)
    let files = active.values
    // The total is known only if all files have started and their sizes are known.
    let isKnown = ended + files.count == total && !files.contains { $0.size == nil }
    return TransferProgress(
      filesDone: ended - failed, filesFailed: failed, filesTotal: total,
      bytesDone: files.reduce(endedBytes) { $0 + $1.received },
      bytesTotal: isKnown ? files.reduce(endedSizes) { $0 + ($1.size ?? 0) } : nil,
      elapsed: elapsed, speed: speed.bytesPerSecond)
  }
}
