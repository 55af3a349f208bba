/// The progress of a batch of downloads at one moment.
public struct TransferProgress: Sendable, Equatable {
  /// The number of complete files.
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
    guard let bytesTotal, bytesTotal > 0 else { return min(1, max(0, files)) }
    let bytes = min(1, max(0, Double(bytesDone) / Double(bytesTotal)))
    return files >= 1 ? bytes : min(bytes, 0.99)
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
}
