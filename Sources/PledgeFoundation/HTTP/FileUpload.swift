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
    mutating func send(_ file: URL) throws -> Int64 {
      guard let length = try? FileHandle(forReadingFrom: file).seekToEnd() else {
        throw URLError(.cannotOpenFile, userInfo: [NSURLErrorFailingURLErrorKey: file])
      }
      httpBody = nil
      httpBodyStream = InputStream(url: file)
      setValue("\(length)", forHTTPHeaderField: "Content-Length")
      for name in Self.blankHeaders where value(forHTTPHeaderField: name) == nil {
        setValue(" ", forHTTPHeaderField: name)
      }
      return Int64(length)
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
#endif
