import ArgumentParser
import Foundation
import PledgeDiagnostics

// The option --trace: what the promises did, as a file.

extension Fetch {
  /// Throws a `ValidationError` if no trace can be written to the file of --trace.
  func validateTrace() throws {
    guard let trace else { return }
    do {
      _ = try Trace.Format(fileName: trace)
    } catch {
      throw ValidationError("--trace: \(error).")
    }
    let folder = URL(filePath: trace).deletingLastPathComponent().path(percentEncoded: false)
    guard FileManager.default.isWritableFile(atPath: folder) else {
      throw ValidationError("--trace: the folder \(folder) doesn't exist or isn't writable.")
    }
  }

  /// Runs `body` and writes what the promises did during that time, also if it throws.
  func tracing(_ body: () async throws -> Void) async throws {
    guard let trace else { return try await body() }
    // A download creates about twenty promises. If there are more than the limit, the file contains
    // the newest ones, and the number of those that are missing.
    let recording = Trace.start(limit: 200_000)
    let result: Result<Void, any Error>
    do { result = .success(try await body()) } catch { result = .failure(error) }
    recording.stop()
    try recording.write(to: URL(filePath: trace))
    FileHandle.standardError.write(
      Data("The trace of \(recording.count) promises is in \(trace).\n".utf8))
    try result.get()
  }
}
