/// How far a batch of downloads has come, at one moment.
public struct TransferProgress: Sendable, Equatable {
  /// How many files are complete.
  public var filesDone: Int

  /// How many files were given up.
  public var filesFailed: Int

  /// How many files there are.
  public var filesTotal: Int

  /// How many bytes have arrived that count towards the files.
  public var bytesDone: Int

  /// How many bytes there are, if that is known.
  public var bytesTotal: Int?

  /// How long the batch has been going on.
  public var elapsed: Duration

  /// Creates a reading.
  ///
  /// - Parameters:
  ///   - filesDone: How many files are complete.
  ///   - filesFailed: How many files were given up.
  ///   - filesTotal: How many files there are.
  ///   - bytesDone: How many bytes have arrived.
  ///   - bytesTotal: How many bytes there are, if that is known.
  ///   - elapsed: How long the batch has been going on.
  public init(
    filesDone: Int = 0,
    filesFailed: Int = 0,
    filesTotal: Int,
    bytesDone: Int = 0,
    bytesTotal: Int? = nil,
    elapsed: Duration = .zero
  ) {
    self.filesDone = filesDone
    self.filesFailed = filesFailed
    self.filesTotal = filesTotal
    self.bytesDone = bytesDone
    self.bytesTotal = bytesTotal
    self.elapsed = elapsed
  }

  /// The part that is done, from 0 to 1: of the bytes if their number is known,
  /// of the files otherwise.
  public var fraction: Double {
    if let bytesTotal, bytesTotal > 0 {
      return min(1, max(0, Double(bytesDone) / Double(bytesTotal)))
    }
    guard filesTotal > 0 else { return 1 }
    return min(1, max(0, Double(filesDone + filesFailed) / Double(filesTotal)))
  }

  /// How long the rest will take at the speed so far, if that can be said.
  public var remaining: Duration? {
    guard let bytesTotal, bytesDone > 0, bytesTotal >= bytesDone, elapsed > .zero else {
      return nil
    }
    return elapsed * (Double(bytesTotal - bytesDone) / Double(bytesDone))
  }
}
