import Foundation

/// The folder for the files.
///
/// A coordinator that is killed leaves the hidden files of its attempts in the folder. The next one
/// removes them, unless another coordinator uses the same folder: each coordinator holds a lock of
/// the folder, which the system releases when the process ends, even if it is killed.
final class OutputFolder: Sendable {
  let url: URL
  private let descriptor: CInt

  /// Creates the folder if it doesn't exist, and removes the hidden files of killed coordinators.
  init(_ url: URL) throws {
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    self.url = url
    descriptor = open(url.path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0, try lockAndRemoveLeftovers() else {
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
  }

  deinit { close(descriptor) }

  private func lockAndRemoveLeftovers() throws -> Bool {
    if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
      for name in try FileManager.default.contentsOfDirectory(atPath: url.path)
      where ArrivingFile.isHiddenName(name) {
        try FileManager.default.removeItem(at: url.appendingPathComponent(name))
      }
    }
    // Waits while another coordinator removes files.
    return flock(descriptor, LOCK_SH) == 0
  }
}
