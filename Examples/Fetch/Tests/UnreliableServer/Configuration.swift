/// The files of a ``LoopbackServer`` and its faults.
public struct Configuration: Sendable {
  /// The seed for the sizes and contents of the files.
  public var seed: UInt64

  /// The number of files.
  public var fileCount: Int

  /// The range of file sizes, in bytes; small files are more frequent.
  public var sizes: ClosedRange<Int>

  /// The number of mirrors, each on a separate port.
  public var mirrorCount: Int

  /// The script that determines the faults.
  public var script: Script

  /// The value of the `Retry-After` header, in seconds.
  public var retryAfter = 1

  /// Whether the server supports range requests.
  public var servesRanges = true

  /// The number of pieces in which a slow response is sent.
  public var slowPieces = 20

  /// The pause between two pieces of a slow response.
  public var slowPause: Duration = .milliseconds(50)

  /// Waits between the pieces of slow responses.
  var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

  /// Creates a configuration.
  ///
  /// - Parameters:
  ///   - seed: The seed for the sizes and contents of the files, and for the default script.
  ///   - fileCount: The number of files.
  ///   - sizes: The range of file sizes, in bytes.
  ///   - mirrorCount: The number of mirrors.
  ///   - script: The script that determines the faults; random faults by default.
  public init(
    seed: UInt64 = 1,
    fileCount: Int = 200,
    sizes: ClosedRange<Int> = 8...2_000_000,
    mirrorCount: Int = 2,
    script: Script? = nil
  ) {
    precondition(fileCount >= 0, "A server cannot have \(fileCount) files.")
    precondition(mirrorCount >= 1, "A server needs at least one mirror.")
    precondition(sizes.lowerBound >= 0, "A file cannot have \(sizes.lowerBound) bytes.")
    self.seed = seed
    self.fileCount = fileCount
    self.sizes = sizes
    self.mirrorCount = mirrorCount
    self.script = script ?? .random(seed: seed)
  }
}
