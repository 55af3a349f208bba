import Foundation
import NIOCore
import Synchronization

@testable import fetch

/// A server of generated files, on several mirrors that misbehave.
///
/// Only the first three requests for a file on a mirror can meet a fault, so a client that retries
/// gets every file. The seed determines the faults, in whatever order the requests arrive.
final class UnreliableServer: Sendable {
  enum Fault: CaseIterable {
    /// The body arrives in at least 20 pieces, with a pause after each.
    case slow
    case busy
    /// The status is 503, and the server says when to try again.
    case busyWithRetryAfter
    /// The connection ends after half of the body.
    case cutOff
    /// One byte is wrong, in another way in each response.
    case wrongByte
  }

  struct Configuration: Sendable {
    var seed = 1
    var fileCount = 1
    /// The range of sizes, in bytes; small files are more frequent.
    var sizes = 1...1000
    var mirrorCount = 2
    var faults = Fault.allCases
    /// The fraction of the first three requests that meet a fault.
    var share = 0.4
    var pause = Duration.milliseconds(50)
    /// The number of requests for each file on each mirror whose bodies stop after a quarter, while
    /// the connection stays open.
    var stalls = 0
  }

  struct File: Sendable {
    let name: String
    let bytes: Data
    let checksum: Checksum
    var urls: [String] = []
  }

  private struct State {
    var ports: [Int] = []
    var (requests, partialResponses) = (0, 0)
    /// The number of requests for each file on each mirror.
    var attempts: [String: Int] = [:]
  }

  private let configuration: Configuration
  private let generated: [String: File]
  private let state = Mutex(State())

  /// Starts a server, which responds until it is deallocated.
  init(_ configuration: Configuration) async throws {
    self.configuration = configuration
    let source = FileHandle(forReadingAtPath: "/dev/urandom")
    let (low, high) = (configuration.sizes.lowerBound, configuration.sizes.upperBound)
    let files = (0..<configuration.fileCount).map { number in
      let luck = Self.luck("size \(number)", configuration.seed)
      let size = min(high, Int(Double(low) * pow(Double(high + 1) / Double(low), luck)))
      let bytes = (try? source?.read(upToCount: size)) ?? Data()
      return File(name: "file-\(number).bin", bytes: bytes, checksum: Checksum(of: bytes))
    }
    generated = Dictionary(uniqueKeysWithValues: files.map { ($0.name, $0) })
    for mirror in 0..<configuration.mirrorCount {
      let server = try await RawServer { [weak self] request, connection in
        self?.respond(to: request, mirror: mirror, connection)
      }
      state.withLock { $0.ports.append(server.port) }
    }
  }

  /// The files, each with its URL on every mirror.
  var files: [File] {
    let ports = state.withLock { $0.ports }
    return generated.values.sorted { $0.name < $1.name }.map { file in
      var file = file
      file.urls = ports.map { "http://127.0.0.1:\($0)/\(file.name)" }
      return file
    }
  }

  /// The numbers of requests and of partial responses so far.
  var tally: (requests: Int, partialResponses: Int) {
    state.withLock { ($0.requests, $0.partialResponses) }
  }

  var list: String {
    files.map { file in
      "\(file.urls.joined(separator: " ")) sha256=\(file.checksum) out=\(file.name)\n"
    }.joined()
  }

  /// A number from 0 up to 1 that depends only on its arguments.
  private static func luck(_ text: String, _ seed: Int) -> Double {
    let digits = Checksum(of: Data("\(seed) \(text)".utf8)).hex.prefix(8)
    return Double(UInt32(digits, radix: 16) ?? 0) / Double(1 << 32)
  }

  private func fault(_ name: String, mirror: Int, attempt: Int) -> Fault? {
    let luck = Self.luck("\(name) \(mirror) \(attempt)", configuration.seed)
    guard attempt <= 3, luck < configuration.share else { return nil }
    let faults = configuration.faults
    return faults[Int(luck / configuration.share * Double(faults.count))]
  }

  private func respond(
    to request: RawServer.Request, mirror: Int, _ connection: RawServer.Connection
  ) {
    let path = request.line.split(separator: " ").dropFirst().first?.dropFirst() ?? ""
    guard let file = generated[String(path)] else {
      return connection.send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
    }
    let attempt = state.withLock { state in
      state.requests += 1
      state.attempts["\(mirror) \(file.name)", default: 0] += 1
      return state.attempts["\(mirror) \(file.name)", default: 0]
    }
    let fault = fault(file.name, mirror: mirror, attempt: attempt)
    if fault == .busy || fault == .busyWithRetryAfter {
      let delay = fault == .busy ? "" : "Retry-After: 1\r\n"
      return connection.send("HTTP/1.1 503 Busy\r\n\(delay)Content-Length: 0\r\n\r\n")
    }
    var bytes = file.bytes
    if fault == .wrongByte {
      bytes[bytes.count / 2] ^= UInt8((attempt * configuration.mirrorCount + mirror) % 255 + 1)
    }
    // Entity tags differ between mirrors, like those of real ones.
    let tag = "\"\(configuration.seed)-\(mirror)\""
    let fields = ["Range": request.field("range"), "If-Range": request.field("if-range")]
    let asked = Asked(url: URL(filePath: file.name), headers: fields.compactMapValues(\.self))
    let reply = asked.reply(with: bytes, tag: tag)
    bytes = reply.body
    if reply.status == 206 { state.withLock { $0.partialResponses += 1 } }
    let head = reply.headers.map { "\($0): \($1)\r\n" }.joined()
    connection.send("HTTP/1.1 \(reply.status) OK\r\nContent-Length: \(bytes.count)\r\n\(head)\r\n")
    if attempt <= configuration.stalls {
      return connection.send(ByteBuffer(bytes: bytes.prefix(bytes.count / 4)))
    }
    switch fault {
    case .slow:
      send(ByteBuffer(bytes: bytes), pieceSize: min(65_536, max(1, bytes.count / 20)), connection)
    case .cutOff: connection.send(ByteBuffer(bytes: bytes.prefix(bytes.count / 2)), isLast: true)
    default: connection.send(ByteBuffer(bytes: bytes))
    }
  }

  /// Sends bytes in pieces, with a pause after each.
  private func send(_ bytes: ByteBuffer, pieceSize: Int, _ connection: RawServer.Connection) {
    var rest = bytes
    guard let piece = rest.readSlice(length: min(pieceSize, rest.readableBytes)) else { return }
    connection.send(piece)
    guard rest.readableBytes > 0, connection.channel.isActive else { return }
    let pause = TimeAmount(configuration.pause)
    connection.channel.eventLoop.assumeIsolated().scheduleTask(in: pause) { [rest] in
      self.send(rest, pieceSize: pieceSize, connection)
    }
  }
}
