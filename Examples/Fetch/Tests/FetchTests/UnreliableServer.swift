import FetchSupport
import Foundation
import NIOCore
import Synchronization

/// A server of generated files, on several mirrors that misbehave.
///
/// Only the first three requests for a file on a mirror can meet a fault, so a client that retries
/// gets every file. The seed determines the faults, in whatever order the requests arrive.
final class UnreliableServer: Sendable {
  enum Fault: CaseIterable {
    /// The body arrives in at least 20 pieces, with a pause after each.
    case slow
    /// The status is 503.
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

  struct Tally: Sendable {
    var requests = 0
    var partialResponses = 0
  }

  /// The files, each with its URL on every mirror.
  let files: [File]
  private let site: Site
  private let mirrors: [RawServer]

  /// Starts a server, which runs until ``stop()``.
  init(_ configuration: Configuration) async throws {
    let site = Site(configuration)
    var mirrors: [RawServer] = []
    for mirror in 0..<configuration.mirrorCount {
      let server = try await RawServer { request, connection in
        site.respond(to: request, mirror: mirror, connection)
      }
      mirrors.append(server)
    }
    self.site = site
    self.mirrors = mirrors
    files = site.files.values.sorted { $0.name < $1.name }.map { file in
      var file = file
      file.urls = mirrors.map { "http://127.0.0.1:\($0.port)/\(file.name)" }
      return file
    }
  }

  /// Ends all connections; responses that are in progress are truncated.
  func stop() async {
    for mirror in mirrors { await mirror.stop() }
  }

  /// The requests that have arrived so far.
  var tally: Tally { site.state.withLock { $0.tally } }

  /// The files as a list of downloads.
  var list: String {
    files.map { file in
      "\(file.urls.joined(separator: " ")) sha256=\(file.checksum) out=\(file.name)\n"
    }.joined()
  }
}

/// The files of a server, and its responses.
private final class Site: Sendable {
  struct State {
    var tally = UnreliableServer.Tally()
    /// The number of requests for each file on each mirror.
    var attempts: [String: Int] = [:]
  }

  let configuration: UnreliableServer.Configuration
  let files: [String: UnreliableServer.File]
  let state = Mutex(State())

  init(_ configuration: UnreliableServer.Configuration) {
    self.configuration = configuration
    let source = FileHandle(forReadingAtPath: "/dev/urandom")
    let (low, high) = (configuration.sizes.lowerBound, configuration.sizes.upperBound)
    let files = (0..<configuration.fileCount).map { number in
      let luck = Self.luck("size \(number)", configuration.seed)
      let size = min(high, Int(Double(low) * pow(Double(high + 1) / Double(low), luck)))
      let bytes = (try? source?.read(upToCount: size)) ?? Data()
      return UnreliableServer.File(
        name: "file-\(number).bin", bytes: bytes, checksum: Checksum(of: bytes))
    }
    self.files = Dictionary(uniqueKeysWithValues: files.map { ($0.name, $0) })
  }

  /// A number from 0 up to 1 that depends only on its arguments.
  private static func luck(_ text: String, _ seed: Int) -> Double {
    let digits = Checksum(of: Data("\(seed) \(text)".utf8)).hex.prefix(8)
    return Double(UInt32(digits, radix: 16) ?? 0) / Double(1 << 32)
  }

  private func fault(_ name: String, mirror: Int, attempt: Int) -> UnreliableServer.Fault? {
    let luck = Self.luck("\(name) \(mirror) \(attempt)", configuration.seed)
    guard attempt <= 3, luck < configuration.share else { return nil }
    let faults = configuration.faults
    return faults[Int(luck / configuration.share * Double(faults.count))]
  }

  func respond(
    to request: RawServer.Request, mirror: Int, _ connection: RawServer.Connection
  ) {
    let path = request.line.split(separator: " ").dropFirst().first?.dropFirst() ?? ""
    guard let file = files[String(path)] else {
      connection.send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
      return
    }
    let attempt = state.withLock { state in
      state.tally.requests += 1
      state.attempts["\(mirror) \(file.name)", default: 0] += 1
      return state.attempts["\(mirror) \(file.name)", default: 0]
    }
    let fault = fault(file.name, mirror: mirror, attempt: attempt)
    if fault == .busy || fault == .busyWithRetryAfter {
      let delay = fault == .busy ? "" : "Retry-After: 1\r\n"
      connection.send("HTTP/1.1 503 Busy\r\n\(delay)Content-Length: 0\r\n\r\n")
      return
    }
    var bytes = file.bytes
    if fault == .wrongByte {
      bytes[bytes.count / 2] ^= UInt8((attempt * configuration.mirrorCount + mirror) % 255 + 1)
    }
    // Entity tags differ between mirrors, like those of real ones.
    let tag = "\"\(configuration.seed)-\(mirror)\""
    var head = "200 OK\r\n"
    if let range = Self.range(of: request, bytes.count, tag) {
      state.withLock { $0.tally.partialResponses += 1 }
      head = "206 Partial Content\r\nContent-Range: bytes \(range.lowerBound)-"
      head += "\(range.upperBound - 1)/\(bytes.count)\r\n"
      bytes = bytes.subdata(in: range)
    }
    head = "HTTP/1.1 \(head)Content-Length: \(bytes.count)\r\nETag: \(tag)\r\n"
    connection.send("\(head)Accept-Ranges: bytes\r\n\r\n")
    if attempt <= configuration.stalls {
      connection.send(ByteBuffer(bytes: bytes.prefix(bytes.count / 4)))
      return
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

  /// Returns the requested part of a file; nil for the whole file, or if its version is another one.
  private static func range(
    of request: RawServer.Request, _ size: Int, _ tag: String
  ) -> Range<Int>? {
    guard let match = request.field("range")?.wholeMatch(of: /bytes=(\d+)-(\d*)/),
      let first = Int(match.1), first < size, request.field("if-range") ?? tag == tag
    else { return nil }
    return first..<min(size, (Int(match.2) ?? size - 1) + 1)
  }
}
