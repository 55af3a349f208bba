import Foundation

extension LoopbackServer {
  /// A connection of a client, which the thread that serves it uses.
  public final class Connection {
    private let descriptor: Int32
    /// What has been received, but not yet read.
    private var received = Data()

    init(_ descriptor: Int32) {
      self.descriptor = descriptor
      // Otherwise, a body waits until the client has acknowledged the head.
      var isOn: Int32 = 1
      let size = socklen_t(MemoryLayout<Int32>.size)
      setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, size)
    }

    /// Waits for a request, and returns it; returns nil if the client closes the connection.
    ///
    /// - Parameter receiveHead: Is called before the body is read.
    public func readRequest(_ receiveHead: (Request) -> Void = { _ in }) -> Request? {
      guard let head = read(upTo: "\r\n\r\n") else { return nil }
      let lines = String(decoding: head, as: UTF8.self).components(separatedBy: "\r\n")
      let words = lines[0].split(separator: " ")
      guard words.count == 3 else { return nil }
      let target = words[1].split(separator: "?", maxSplits: 1).map(String.init)
      var request = Request(method: String(words[0]), path: target[0])
      if target.count > 1 { request.query = target[1] }
      for line in lines.dropFirst() {
        guard let colon = line.firstIndex(of: ":") else { continue }
        let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        request.headers[line[..<colon].lowercased()] = value
      }
      receiveHead(request)
      if request.headers["expect"] != nil { send(Data("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
      let isChunked = request.headers["transfer-encoding"] == "chunked"
      let length = Int(request.headers["content-length"] ?? "0") ?? 0
      guard let body = isChunked ? readChunks() : read(count: length) else { return nil }
      request.body = body
      return request
    }

    /// Sends an answer.
    public func send(_ answer: Answer) {
      var headers = answer.headers
      headers["Content-Length"] = "\(answer.body.count)"
      sendHead(status: answer.status, headers: headers)
      let body = answer.body.prefix(answer.breaksAfter ?? .max)
      for start in stride(from: body.startIndex, to: body.endIndex, by: 16_384) {
        if answer.pause > 0 { Thread.sleep(forTimeInterval: answer.pause) }
        guard send(body[start..<min(start + 16_384, body.endIndex)]) else { return }
      }
    }

    /// Sends the head of an answer, after which the connection closes unless `headers` say otherwise.
    public func sendHead(status: Int, headers: [String: String]) {
      let fields = ["Connection": "close"].merging(headers) { $1 }.map { "\($0): \($1)\r\n" }
      send(Data("HTTP/1.1 \(status) Status\r\n\(fields.joined())\r\n".utf8))
    }

    /// Sends all bytes; returns false if the client has closed the connection.
    ///
    /// - Parameter willWait: Is called before this waits for the client to receive earlier bytes.
    @discardableResult
    public func send(_ data: Data, willWait: () -> Void = {}) -> Bool {
      #if canImport(Darwin)
        let flags: Int32 = 0
      #else
        let flags = Int32(MSG_NOSIGNAL)
      #endif
      var rest = data
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { bytes in
          let count = sendto(
            descriptor, bytes.baseAddress, bytes.count, flags | Int32(MSG_DONTWAIT), nil, 0)
          guard count < 0, errno == EAGAIN else { return count }
          willWait()
          return sendto(descriptor, bytes.baseAddress, bytes.count, flags, nil, 0)
        }
        guard count > 0 else { return false }
        rest = rest.dropFirst(count)
      }
      return true
    }

    /// Returns when the client has closed its end.
    public func waitForHangUp() { while receive() { received = Data() } }

    /// Ends the answer, and returns when the client has closed its end.
    ///
    /// Without this, bytes that haven't been read would discard those that are still to be sent.
    public func finish() {
      shutdown(descriptor, Int32(SHUT_WR))
      waitForHangUp()
    }

    private func readChunks() -> Data? {
      var body = Data()
      while let line = read(upTo: "\r\n"),
        let size = Int(String(decoding: line, as: UTF8.self), radix: 16),
        let chunk = read(count: size), read(upTo: "\r\n") != nil
      {
        guard size > 0 else { return body }
        body += chunk
      }
      return nil
    }

    /// Reads to the end of `mark`, and returns what precedes it.
    private func read(upTo mark: String) -> Data? {
      while true {
        if let end = received.range(of: Data(mark.utf8)) {
          defer { received = received[end.upperBound...] }
          return received[..<end.lowerBound]
        }
        guard receive() else { return nil }
      }
    }

    private func read(count: Int) -> Data? {
      while received.count < count {
        guard receive() else { return nil }
      }
      defer { received = received.dropFirst(count) }
      return received.prefix(count)
    }

    /// Waits for more bytes; returns false if the client has closed its end.
    private func receive() -> Bool {
      var buffer = [UInt8](repeating: 0, count: 65_536)
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count > 0 else { return false }
      received += buffer[..<count]
      return true
    }
  }
}
