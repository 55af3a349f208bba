import FlyingFox
import Foundation
import Synchronization

/// The files, the record of requests, and the responses.
final class Site: Sendable {
  struct Page: Sendable {
    var name: String
    var content: Content
    var sha256: String
  }

  private struct Records {
    var attempts: [[Int]]
    var tallies: [Tally]
  }

  let configuration: Configuration
  let pages: [Page]
  private let indexByName: [String: Int]
  private let records: Mutex<Records>

  init(_ configuration: Configuration) {
    let width = String(max(0, configuration.fileCount - 1)).count
    pages = (0..<configuration.fileCount).map { index in
      let digits = String(index)
      let padding = String(repeating: "0", count: width - digits.count)
      let seed = Scramble.word(UInt64(index), configuration.seed)
      let content = Content(
        seed: seed, size: Self.size(Scramble.unit(0, ~seed), configuration.sizes))
      return Page(name: "file-\(padding)\(digits).bin", content: content, sha256: content.sha256)
    }
    indexByName = Dictionary(uniqueKeysWithValues: pages.enumerated().map { ($1.name, $0) })
    let noAttempts = [Int](repeating: 0, count: pages.count)
    let mirrors = configuration.mirrorCount
    records = Mutex(
      Records(
        attempts: Array(repeating: noAttempts, count: mirrors),
        tallies: Array(repeating: Tally(), count: mirrors)))
    self.configuration = configuration
  }

  var tallies: [Tally] {
    records.withLock { $0.tallies }
  }

  func response(to request: HTTPRequest, mirror: Int) -> HTTPResponse {
    guard request.method == .GET else {
      let headers: HTTPHeaders = [HTTPHeader("Allow"): "GET"]
      return HTTPResponse(statusCode: .methodNotAllowed, headers: headers)
    }
    guard let name = request.path.wholeMatch(of: /\/files\/([^\/]+)/)?.1,
      let index = indexByName[String(name)]
    else {
      return HTTPResponse(statusCode: .notFound, body: Data("Not found.\n".utf8))
    }
    let content = pages[index].content
    let (conduct, attempt) = conduct(file: index, mirror: mirror, size: content.size)
    switch conduct {
    case .busy:
      return busy()
    case .busyWithRetryAfter:
      return busy([HTTPHeader("Retry-After"): "\(configuration.retryAfter)"])
    case .honest, .slow, .cutOff, .wrongBytes:
      let range = configuration.servesRanges ? range(of: request, content.size, mirror) : nil
      // Each attempt corrupts the byte differently, like a noisy connection, and never with a zero
      // mask.
      let flaw = UInt8((attempt * configuration.mirrorCount + mirror) % 255 + 1)
      let body = Body(content, conduct, configuration, range ?? 0..<content.size, flaw: flaw)
      records.withLock { $0.tallies[mirror].count(range: range) }
      return HTTPResponse(
        statusCode: range == nil ? .ok : .partialContent,
        headers: headers(range, content.size, mirror),
        body: HTTPBodySequence(
          from: body, count: body.range.count, suggestedBufferSize: 65_536))
    }
  }

  /// Returns the requested part of the file; nil for the whole file.
  private func range(of request: HTTPRequest, _ size: Int, _ mirror: Int) -> Range<Int>? {
    guard let match = request.headers[.range]?.wholeMatch(of: /bytes=(\d+)-(\d*)/),
      let first = Int(match.1), first < size
    else { return nil }
    // A part of another version of the file would be useless.
    if let condition = request.headers[HTTPHeader("If-Range")], condition != tag(mirror) {
      return nil
    }
    return first..<min(size, (Int(match.2) ?? size - 1) + 1)
  }

  private func headers(_ range: Range<Int>?, _ size: Int, _ mirror: Int) -> HTTPHeaders {
    guard configuration.servesRanges else { return [:] }
    var headers: HTTPHeaders = [.acceptRanges: "bytes", .eTag: tag(mirror)]
    if let range {
      headers[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
    }
    return headers
  }

  /// The entity tag; it differs between mirrors, like those of real ones.
  private func tag(_ mirror: Int) -> String { "\"\(configuration.seed)-\(mirror)\"" }

  private func conduct(file: Int, mirror: Int, size: Int) -> (Conduct, attempt: Int) {
    let attempt = records.withLock { records in
      records.attempts[mirror][file] += 1
      return records.attempts[mirror][file]
    }
    let occasion = Occasion(file: file, mirror: mirror, attempt: attempt)
    var conduct = configuration.script.conduct(on: occasion)
    // An empty file can't be truncated or corrupted.
    if size == 0, conduct != .honest, conduct != .busyWithRetryAfter { conduct = .busy }
    records.withLock { $0.tallies[mirror].count(conduct) }
    return (conduct, attempt)
  }

  private func busy(_ headers: HTTPHeaders = [:]) -> HTTPResponse {
    HTTPResponse(
      statusCode: .serviceUnavailable, headers: headers, body: Data("Try again later.\n".utf8))
  }

  private static func size(_ unit: Double, _ sizes: ClosedRange<Int>) -> Int {
    let low = Double(sizes.lowerBound)
    let high = Double(sizes.upperBound)
    let size = (low + 1) * pow((high + 1) / (low + 1), unit) - 1
    return min(max(Int(size.rounded()), sizes.lowerBound), sizes.upperBound)
  }
}
