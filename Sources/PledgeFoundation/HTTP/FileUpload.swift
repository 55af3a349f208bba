#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking

  // Foundation's own upload of a file on Linux (6.3) ends the process if a read of the file
  // completes after the task has ended. It reads a stream synchronously instead.

  extension URLRequest {
    /// The headers without which Foundation would send a stream in chunks and as a form.
    ///
    /// libcurl doesn't send blank headers.
    private static let blankHeaders = ["Transfer-Encoding", "Content-Type"]

    /// Sets the body to the contents of `file`, and returns its length.
    mutating func send(
      _ file: URL, whenCutShort fail: @escaping @Sendable () -> Void
    ) throws -> Int64 {
      guard let end = try? FileHandle(forReadingFrom: file).seekToEnd() else {
        throw URLError(.cannotOpenFile, userInfo: [NSURLErrorFailingURLErrorKey: file])
      }
      let length = Int64(end)
      httpBody = nil
      httpBodyStream = FileStream(file, length, whenCutShort: fail)
      setValue("\(length)", forHTTPHeaderField: "Content-Length")
      for name in Self.blankHeaders where value(forHTTPHeaderField: name) == nil {
        setValue(" ", forHTTPHeaderField: name)
      }
      return length
    }

    /// Removes the body, and the headers that `send` added, from the request of a redirect.
    mutating func removeFile() {
      httpBodyStream = nil
      setValue(nil, forHTTPHeaderField: "Content-Length")
      for name in Self.blankHeaders where value(forHTTPHeaderField: name) == " " {
        setValue(nil, forHTTPHeaderField: name)
      }
    }
  }

  /// The contents of a file, with the length that the request states.
  ///
  /// A server would wait for the bytes that are missing if the file has become shorter.
  final class FileStream: InputStream {
    private var rest: Int64
    private let fail: @Sendable () -> Void

    init?(_ file: URL, _ length: Int64, whenCutShort fail: @escaping @Sendable () -> Void) {
      rest = length
      self.fail = fail
      super.init(url: file)
    }

    override var hasBytesAvailable: Bool { rest > 0 }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
      let count = super.read(buffer, maxLength: min(maxLength, Int(clamping: rest)))
      guard count > 0 else {
        fail()
        return -1
      }
      rest -= Int64(count)
      return count
    }
  }
#endif
