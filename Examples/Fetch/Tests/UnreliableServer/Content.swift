import FetchSupport
import Foundation

/// Pseudorandom bytes that are generated on demand, and never stored.
///
/// Each byte depends only on the seed and its position.
struct Content: Sendable {
  private let seed: UInt64
  let size: Int

  init(seed: UInt64, size: Int) {
    self.seed = seed
    self.size = size
  }

  func bytes(_ range: Range<Int>) -> Data {
    let firstWord = range.lowerBound / 8
    let wordCount = (range.upperBound + 7) / 8 - firstWord
    let words = [UInt64](unsafeUninitializedCapacity: wordCount) { words, count in
      for index in 0..<wordCount {
        let position = UInt64(firstWord + index)
        words.initializeElement(at: index, to: Scramble.word(position, seed).littleEndian)
      }
      count = wordCount
    }
    let start = range.lowerBound - firstWord * 8
    return words.withUnsafeBytes { Data($0[start..<start + range.count]) }
  }

  var sha256: String {
    var checksum = ChecksumBuilder()
    var start = 0
    while start < size {
      let end = min(start + 65_536, size)
      bytes(start..<end).withUnsafeBytes { checksum.update($0) }
      start = end
    }
    return checksum.checksum.hex
  }
}

/// Pseudorandom numbers that depend only on a seed and a position.
enum Scramble {
  static func word(_ position: UInt64, _ seed: UInt64) -> UInt64 {
    mix(seed &+ (position &+ 1) &* 0x9E37_79B9_7F4A_7C15)
  }

  /// Returns a number from 0 up to, but not including, 1.
  static func unit(_ position: UInt64, _ seed: UInt64) -> Double {
    Double(word(position, seed) >> 11) / Double(1 << 53)
  }

  private static func mix(_ value: UInt64) -> UInt64 {
    var value = value
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}
