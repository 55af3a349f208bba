import FlyingSocks
import Foundation

/// The body of a response, generated while it is sent.
struct Body: AsyncBufferedSequence {
  typealias Element = UInt8

  /// The error that closes the connection in the middle of a body.
  struct CutOff: Error {}

  var content: Content
  var conduct: Conduct
  var range: Range<Int>
  /// The value that is XORed with one byte to corrupt it; not 0.
  var flaw: UInt8
  var pieceSize: Int
  var pause: @Sendable () async throws -> Void

  init(
    _ content: Content, _ conduct: Conduct, _ configuration: Configuration, _ range: Range<Int>,
    flaw: UInt8
  ) {
    let duration = configuration.slowPause
    let sleep = configuration.sleep
    let pieces = Swift.max(1, configuration.slowPieces)
    self.content = content
    self.conduct = conduct
    self.range = range
    self.flaw = flaw
    self.pieceSize = conduct == .slow ? Swift.max(1, (content.size + pieces - 1) / pieces) : 65_536
    self.pause = { try await sleep(duration) }
  }

  func makeAsyncIterator() -> Iterator {
    Iterator(body: self)
  }

  struct Iterator: AsyncBufferedIteratorProtocol {
    let body: Body
    private var position: Int

    init(body: Body) {
      self.body = body
      position = body.range.lowerBound
    }

    mutating func next() async throws -> UInt8? {
      try await nextBuffer(suggested: 1)?.first
    }

    mutating func nextBuffer(suggested count: Int) async throws -> Data? {
      let size = body.content.size
      let last = body.range.upperBound
      let end = body.conduct == .cutOff ? body.range.lowerBound + body.range.count / 2 : last
      guard position < end else {
        if end < last { throw CutOff() }
        return nil
      }
      if body.conduct == .slow, position > body.range.lowerBound {
        try await body.pause()
        try Task.checkCancellation()
      }
      let range = position..<Swift.min(end, position + Swift.min(count, body.pieceSize))
      var bytes = body.content.bytes(range)
      if body.conduct == .wrongBytes, range.contains(size / 2) {
        bytes[bytes.startIndex + size / 2 - position] ^= body.flaw
      }
      position = range.upperBound
      return bytes
    }
  }
}
