/// Tracks how much has arrived, for each file.
public struct ProgressBoard: Sendable {
  private struct File: Sendable {
    var state = ResumeState()
    var connections: Set<Int> = []
    var speed = Speed()
    var note: String?
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
  private var order: [String] = []
  private var speed = Speed()
  private var finishedBytes = 0
  private var seenSizes = 0
  private var seenFiles = 0
  private var done = 0
  private var failed = 0
  private let total: Int

  /// Creates a board for `count` files.
  public init(fileCount count: Int) { total = count }

  /// Records that a response for a file has arrived, and how much of the file is present.
  public mutating func start(_ name: String, _ state: ResumeState) {
    if active[name] == nil {
      active[name] = File()
      order.append(name)
    }
    active[name]?.state = state
    active[name]?.note = nil
  }

  /// Records that bytes have arrived on the connection for the segment that starts at `connection`.
  public mutating func receive(_ name: String, connection: Int, count: Int) {
    active[name]?.state.advance(connection, by: count)
    active[name]?.connections.insert(connection)
    active[name]?.speed.add(count)
    speed.add(count)
  }

  /// Records that a connection has ended.
  public mutating func disconnect(_ name: String, connection: Int) {
    active[name]?.connections.remove(connection)
  }

  /// Records why a file is waiting.
  public mutating func wait(_ name: String, _ note: String) {
    if active[name] == nil { start(name, ResumeState()) }
    active[name]?.note = note
  }

  /// Records that a download has ended; `byteCount` is nil if it failed.
  public mutating func end(_ name: String, byteCount: Int?) {
    let file = active.removeValue(forKey: name)
    order.removeAll { $0 == name }
    seenFiles += 1
    if let byteCount {
      done += 1
      finishedBytes += byteCount
      seenSizes += byteCount
    } else {
      failed += 1
      finishedBytes += file?.state.received ?? 0
      seenSizes += file?.state.size ?? file?.state.received ?? 0
    }
  }

  /// Returns the progress at `elapsed`.
  public mutating func reading(at elapsed: Duration) -> TransferProgress {
    speed.look(at: elapsed)
    for name in order { active[name]?.speed.look(at: elapsed) }
    let rows = order.compactMap { name in
      active[name].map { file in
        TransferProgress.Row(
          name: name, received: file.state.received, size: file.state.size,
          connections: file.connections.count,
          speed: file.speed.bytesPerSecond ?? 0,
          note: file.note)
      }
    }
    let received = rows.reduce(finishedBytes) { $0 + $1.received }
    // The total is known only if all files have started and their sizes are known.
    let isKnown = seenFiles + rows.count == total && !rows.contains { $0.size == nil }
    return TransferProgress(
      filesDone: done, filesFailed: failed, filesTotal: total, bytesDone: received,
      bytesTotal: isKnown ? rows.reduce(seenSizes) { $0 + ($1.size ?? 0) } : nil,
      elapsed: elapsed, speed: speed.bytesPerSecond, rows: rows)
  }
}
