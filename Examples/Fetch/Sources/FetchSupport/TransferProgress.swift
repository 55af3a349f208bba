/// The progress of a batch of downloads at one moment.
public struct TransferProgress: Sendable, Equatable {
  /// A file that is being downloaded.
  public struct Row: Sendable, Equatable {
    /// The name of the file.
    public var name: String
    /// The number of bytes that have arrived.
    public var received: Int
    /// The size of the file in bytes, if it is known.
    public var size: Int?
    /// The segments of the file, which are fetched at the same time.
    public var segments: [Segment]
    /// The number of connections.
    public var connections: Int
    /// The current speed, in bytes per second.
    public var speed: Int
    /// Why the file is waiting, if it is.
    public var note: String?

    /// Creates a row.
    public init(
      name: String, received: Int, size: Int? = nil, segments: [Segment] = [],
      connections: Int = 1, speed: Int = 0, note: String? = nil
    ) {
      self.name = name
      self.received = received
      self.size = size
      self.segments = segments
      self.connections = connections
      self.speed = speed
      self.note = note
    }
  }

  /// The number of complete files.
  public var filesDone: Int
  /// The number of files whose download failed.
  public var filesFailed: Int
  /// The number of files.
  public var filesTotal: Int
  /// The number of bytes that have arrived, for all files.
  public var bytesDone: Int
  /// The total size of all files in bytes, if all sizes are known.
  public var bytesTotal: Int?
  /// The time since the batch started.
  public var elapsed: Duration
  /// The current speed, in bytes per second; nil to use the average so far.
  public var speed: Int?
  /// The files that are being downloaded.
  public var rows: [Row]

  /// Creates a progress value.
  public init(
    filesDone: Int = 0, filesFailed: Int = 0, filesTotal: Int, bytesDone: Int = 0,
    bytesTotal: Int? = nil, elapsed: Duration = .zero, speed: Int? = nil, rows: [Row] = []
  ) {
    self.filesDone = filesDone
    self.filesFailed = filesFailed
    self.filesTotal = filesTotal
    self.bytesDone = bytesDone
    self.bytesTotal = bytesTotal
    self.elapsed = elapsed
    self.speed = speed
    self.rows = rows
  }

  /// The completed fraction, from 0 to 1: of the bytes if the total size is known, of the files
  /// otherwise; less than 1 while files are incomplete.
  public var fraction: Double {
    guard filesTotal > 0 else { return 1 }
    let files = Double(filesDone + filesFailed) / Double(filesTotal)
    guard let bytesTotal, bytesTotal > 0 else { return min(1, max(0, files)) }
    let bytes = min(1, max(0, Double(bytesDone) / Double(bytesTotal)))
    return files >= 1 ? bytes : min(bytes, 0.99)
  }

  /// The estimated time for the rest at the current speed, if it can be computed.
  public var remaining: Duration? {
    guard let bytesTotal, bytesTotal >= bytesDone,
      let speed = speed ?? HumanReadable.bytesPerSecond(bytesDone, in: elapsed), speed > 0
    else { return nil }
    return .seconds(Double(bytesTotal - bytesDone) / Double(speed))
  }
}
