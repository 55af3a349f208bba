import Crypto
import Foundation
import Pledge
import PledgeFoundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The error of a file whose checksum isn't that of its job.
struct WrongChecksum: Error, CustomStringConvertible {
  let found: String
  var description: String { "The file has the checksum \(found)." }
}

/// The folder for the files, which all workers share.
///
/// The name of a file is its checksum, so it doesn't matter how often, and by how many workers, a file is
/// written: the result is the same.
struct Downloads: Sendable {
  let folder: URL
  /// The time limit of an attempt.
  let limit: Duration

  /// Downloads the file of a job, unless it exists, and returns its size.
  func download(_ job: Job) -> Promise<Int> {
    let file = folder.appendingPathComponent(job.sha256)
    let partial = folder.appendingPathComponent(".partial/\(job.id)")
    let attempt = partial.appendingPathComponent("\(job.attempt)")
    return Promise(on: .global) { (try? file.resourceValues(forKeys: [.fileSizeKey]))?.fileSize }
      .then(on: .global) { size in
        if let size { return .value(size) }
        guard let url = URL(string: job.url) else { throw URLError(.badURL) }
        try FileManager.default.createDirectory(at: partial, withIntermediateDirectories: true)
        return URLSession.shared.download(url, to: attempt).timeout(after: limit)
          .map(on: .global) { _ in try finish(attempt, as: file, sha256: job.sha256) }
      }
      // With what earlier attempts left, whose workers were killed.
      .get { _ in try? FileManager.default.removeItem(at: partial) }
  }

  /// Gives a file its name, if it has the right checksum, and returns its size.
  private func finish(_ attempt: URL, as file: URL, sha256: String) throws -> Int {
    let content = try Data(contentsOf: attempt, options: .mappedIfSafe)
    let found = SHA256.hash(data: content).map { String(format: "%02x", $0) }.joined()
    guard found == sha256 else {
      try FileManager.default.removeItem(at: attempt)
      throw WrongChecksum(found: found)
    }
    // A result must not outlive its file, even if the host loses power.
    try FileHandle(forUpdating: attempt).synchronize()
    guard rename(attempt.path, file.path) == 0 else {
      throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: file.path])
    }
    return content.count
  }
}
