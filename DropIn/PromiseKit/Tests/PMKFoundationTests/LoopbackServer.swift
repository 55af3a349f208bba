import Foundation

/// A server on the loopback interface that responds to every request with the same body, and with the
/// status that is its path, or 200.
final class LoopbackServer: @unchecked Sendable {
  // Immutable after `init`.
  private let socketNumber: Int32
  let url: URL

  init?(body: String) {
    #if canImport(Darwin)
      let kind = SOCK_STREAM
    #else
      let kind = Int32(SOCK_STREAM.rawValue)
    #endif
    socketNumber = socket(AF_INET, kind, 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let number = socketNumber
    let port: UInt16? = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        guard bind(number, address, length) == 0, listen(number, 8) == 0,
          getsockname(number, address, &length) == 0
        else { return false }
        return true
      } ? UInt16(bigEndian: pointer.pointee.sin_port) : nil
    }
    guard let port, let url = URL(string: "http://127.0.0.1:\(port)/") else { return nil }
    self.url = url
    Thread.detachNewThread {
      while true {
        let connection = accept(number, nil, nil)
        guard connection >= 0 else { return }
        var request = [UInt8](repeating: 0, count: 4096)
        _ = recv(connection, &request, request.count, 0)
        let path = String(decoding: request, as: UTF8.self).split(separator: " ").dropFirst().first
        let answer = """
          HTTP/1.1 \(path.flatMap { Int($0.dropFirst()) } ?? 200) Some\r\nContent-Length: \(body.utf8.count)\r\n\
          Connection: close\r\n\r\n\(body)
          """
        _ = answer.withCString { send(connection, $0, strlen($0), 0) }
        // A connection that is closed with unread data loses the response.
        shutdown(connection, Int32(SHUT_WR))
        while recv(connection, &request, request.count, 0) > 0 {}
        close(connection)
      }
    }
  }

  deinit {
    shutdown(socketNumber, Int32(SHUT_RDWR))
    close(socketNumber)
  }
}
