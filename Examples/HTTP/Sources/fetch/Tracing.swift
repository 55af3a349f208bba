import ArgumentParser
import Foundation
import PledgeDiagnostics

// The option --trace, which writes a trace of all promises to a file.

extension Fetch {
  /// Throws a `ValidationError` if a trace can't be written to the file that --trace names.
  func validateTrace() throws {
    guard let trace else { return }
    let folder = URL(filePath: trace).deletingLastPathComponent().path(percentEncoded: false)
    guard FileManager.default.isWritableFile(atPath: folder) else {
      throw ValidationError("--trace: the folder \(folder) doesn't exist or isn't writable.")
    }
  }

  /// Runs `body` and writes a trace of the promises during that time, even if it throws.
  func tracing(_ body: () async throws -> Void) async throws {
    guard let trace else { return try await body() }
    // A download creates about twenty promises. Beyond the limit, the file contains only the newest
    // promises, and the number of missing ones.
    let recording = Trace.start(limit: 200_000)
    let result: Result<Void, any Error>
    do { result = .success(try await body()) } catch { result = .failure(error) }
    recording.stop()
    try recording.write(to: URL(filePath: trace))
    StandardStreams.writeError("The trace of \(recording.count) promises is in \(trace).\n")
    try result.get()
  }
}
