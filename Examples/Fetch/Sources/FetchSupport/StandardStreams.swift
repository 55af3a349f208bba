import Foundation

/// Reads and writes the standard streams of the process.
///
/// `FileHandle` ends the process if a stream is closed or can't be written.
public enum StandardStreams {
  /// Writes to standard error; ignores failures, because there is nowhere to report them.
  public static func writeError(_ text: String) {
    _ = Array(text.utf8).withUnsafeBytes { write($0, to: STDERR_FILENO) }
  }

  /// Writes to standard output.
  public static func writeOutput(_ bytes: UnsafeRawBufferPointer) throws(FileFailure) {
    if let code = write(bytes, to: STDOUT_FILENO) {
      throw FileFailure(.write, "standard output", code)
    }
  }

  /// Returns the contents of a text file or a pipe, or of standard input for `-`.
  public static func read(_ path: String) throws(FileFailure) -> String {
    let file = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    let name = path == "-" ? "standard input" : path
    guard file >= 0 else { throw FileFailure(.read, name, errno) }
    defer { if file != STDIN_FILENO { close(file) } }
    var text: [UInt8] = []
    try FileReading.forEachPiece(of: file, name) { text += $0 }
    return String(decoding: text, as: UTF8.self)
  }

  /// Returns the error number, or nil after success.
  private static func write(_ bytes: UnsafeRawBufferPointer, to file: Int32) -> Int32? {
    var rest = bytes
    while !rest.isEmpty {
      #if canImport(Darwin)
        let count = Darwin.write(file, rest.baseAddress, rest.count)
      #else
        let count = Glibc.write(file, rest.baseAddress, rest.count)
      #endif
      if count >= 0 {
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      } else if errno == EAGAIN {
        // The stream is a pipe that another process made non-blocking.
        var stream = pollfd(fd: file, events: Int16(POLLOUT), revents: 0)
        guard poll(&stream, 1, -1) >= 0 || errno == EINTR else { return errno }
      } else if errno != EINTR {
        return errno
      }
    }
    return nil
  }
}
