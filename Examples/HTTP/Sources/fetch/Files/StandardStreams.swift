import Foundation

/// Reads and writes files and the standard streams of the process.
///
/// `FileHandle` ends the process if a stream is closed or can't be written.
enum StandardStreams {
  /// Writes to standard error; ignores failures, because there is nowhere to report them.
  static func writeError(_ text: String) {
    _ = Array(text.utf8).withUnsafeBytes { write($0, to: STDERR_FILENO) }
  }

  /// Writes to standard output.
  static func writeOutput(_ bytes: UnsafeRawBufferPointer) throws(FileFailure) {
    if let code = write(bytes, to: STDOUT_FILENO) {
      throw FileFailure(.write, "standard output", code)
    }
  }

  /// Returns the contents of a text file or a pipe, or of standard input for `-`.
  static func read(_ path: String) throws(FileFailure) -> String {
    let file = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    let name = path == "-" ? "standard input" : path
    guard file >= 0 else { throw FileFailure(.read, name, errno) }
    defer { if file != STDIN_FILENO { close(file) } }
    var text: [UInt8] = []
    try forEachPiece(of: file, name) { text += $0 }
    return String(decoding: text, as: UTF8.self)
  }

  /// Passes the rest of an open file of any size to `body`, piece by piece; `path` is for error
  /// messages.
  static func forEachPiece(
    of file: Int32, _ path: String, _ body: (UnsafeRawBufferPointer) -> Void
  ) throws(FileFailure) {
    let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
    defer { piece.deallocate() }
    while true {
      let count = Foundation.read(file, piece.baseAddress, piece.count)
      if count > 0 {
        body(UnsafeRawBufferPointer(rebasing: piece[..<count]))
      } else if count == 0 {
        return
      } else if errno != EINTR {
        throw FileFailure(.read, path, errno)
      }
    }
  }

  /// Writes all bytes, at a position if it isn't nil; returns the error number, or nil after success.
  static func write(
    _ bytes: UnsafeRawBufferPointer, to file: Int32, at position: Int? = nil
  ) -> Int32? {
    var done = 0
    while done < bytes.count {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
      let count =
        position.map { pwrite(file, rest.baseAddress, rest.count, off_t($0 + done)) }
        ?? Foundation.write(file, rest.baseAddress, rest.count)
      if count >= 0 {
        done += count
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

extension String {
  /// The text with control and invisible characters replaced by U+FFFD, so that a terminal doesn't
  /// interpret them.
  ///
  /// Line feeds are kept.
  var printable: String {
    String(
      String.UnicodeScalarView(unicodeScalars.map { $0 == "\n" || $0.isVisible ? $0 : "\u{FFFD}" }))
  }
}

extension Unicode.Scalar {
  /// Whether this isn't a control or invisible character.
  var isVisible: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: false
    default: true
    }
  }
}
