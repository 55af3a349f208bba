/// What a ``LoopbackServer`` serves, and how badly.
public struct Configuration: Sendable {
  /// The seed of the files' sizes and bytes.
  public var seed: UInt64

  /// How many files there are.
  public var fileCount: Int

  /// The sizes that files have, most of them nearer to the lower bound.
  public var sizes: ClosedRange<Int>

  /// How many mirrors serve the files, each at a port of its own.
  public var mirrorCount: Int

  /// The plan of misbehavior.
  public var script: Script

  /// The value of the `Retry-After` header, in seconds.
  public var retryAfter = 1

  /// Whether parts of files can be asked for.
  public var servesRanges = true

  /// In how many pieces a slow answer is sent.
  public var slowPieces = 20

  /// The pause before each piece of a slow answer but the first.
  public var slowPause: Duration = .milliseconds(50)

  /// Waits between the pieces of slow answers.
  var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

  /// Creates a configuration.
  ///
  /// - Parameters:
  ///   - seed: The seed of sizes and bytes, and of the default script.
  ///   - fileCount: How many files there are.
  ///   - sizes: The sizes that files have.
  ///   - mirrorCount: How many mirrors serve the files.
  ///   - script: The plan of misbehavior; random misbehavior by default.
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
