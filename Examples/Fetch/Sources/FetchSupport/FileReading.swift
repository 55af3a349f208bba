import Foundation

/// Reads files of any size piece by piece.
enum FileReading {
  /// The maximum size of a piece in bytes.
  static let pieceSize = 1 << 18

  /// Passes the rest of an open file to `body`, piece by piece; `path` is for error messages.
  static func forEachPiece(
    of file: Int32, _ path: String,
    _ body: (UnsafeRawBufferPointer) throws(FileFailure) -> Void
  ) throws(FileFailure) {
    let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceSize, alignment: 16)
    defer { piece.deallocate() }
    while true {
      let count = read(file, piece.baseAddress, piece.count)
      if count > 0 {
        try body(UnsafeRawBufferPointer(rebasing: piece[..<count]))
      } else if count == 0 {
        return
      } else if errno != EINTR {
        throw FileFailure(.read, path, errno)
      }
    }
  }
}
