/// How far a batch of downloads has come, at one moment.
public struct TransferProgress: Sendable, Equatable {
  /// One file that is arriving.
  public struct Row: Sendable, Equatable {
    /// The name of the file.
    public var name: String
    /// How many bytes of it are here.
    public var received: Int
    /// How many bytes it has, if the server tells.
    public var size: Int?
    /// Its segments, which are fetched at the same time.
    public var segments: [Segment]
    /// How many connections it has.
    public var connections: Int
    /// The present speed in bytes per second.
    public var speed: Int
    /// What it waits for, if it does.
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

  /// How many files are complete.
  public var filesDone: Int
  /// How many files were given up.
  public var filesFailed: Int
  /// How many files there are.
  public var filesTotal: Int
  /// How many bytes of the files are here.
  public var bytesDone: Int
  /// How many bytes there are, if that is known for all files.
  public var bytesTotal: Int?
  /// How long the batch has been going on.
  public var elapsed: Duration
  /// The present speed in bytes per second; nil for the average so far.
  public var speed: Int?
  /// The files that are arriving.
  public var rows: [Row]

  /// Creates a reading.
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

  /// The part that is done, from 0 to 1: of the bytes if their number is known, of the files
  /// otherwise; less than 1 while files are missing.
  public var fraction: Double {
    guard filesTotal > 0 else { return 1 }
    let files = Double(filesDone + filesFailed) / Double(filesTotal)
    guard let bytesTotal, bytesTotal > 0 else { return min(1, max(0, files)) }
    let bytes = min(1, max(0, Double(bytesDone) / Double(bytesTotal)))
    return files >= 1 ? bytes : min(bytes, 0.99)
  }

  /// How long the rest will take at the present speed, if that can be said.
  public var remaining: Duration? {
    guard let bytesTotal, bytesTotal >= bytesDone,
      let speed = speed ?? HumanReadable.bytesPerSecond(bytesDone, in: elapsed), speed > 0
    else { return nil }
    return .seconds(Double(bytesTotal - bytesDone) / Double(speed))
  }
}
