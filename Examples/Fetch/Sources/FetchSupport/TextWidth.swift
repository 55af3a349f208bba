/// Measures text in terminal columns.
enum TextWidth {
  /// Returns the width of `text`.
  static func columns(of text: String) -> Int {
    text.reduce(0) { $0 + columns(of: $1) }
  }

  /// Returns `text`, padded to `width` columns with spaces after it, or before it.
  static func padded(_ text: String, to width: Int, alignRight: Bool = false) -> String {
    let padding = String(repeating: " ", count: max(0, width - columns(of: text)))
    return alignRight ? padding + text : text + padding
  }

  /// Returns `text`, shortened to at most `width` columns by omitting its middle or its end.
  static func shortened(_ text: String, to width: Int, keepEnd: Bool = true) -> String {
    guard columns(of: text) > width else { return text }
    guard width > 1 else { return width == 1 ? "…" : "" }
    let tail = keepEnd ? suffix(of: text, within: (width - 1) / 2) : ""
    let head = prefix(of: text, within: width - 1 - columns(of: tail))
    return head + "…" + tail
  }

  /// Returns the longest prefix of `text` that fits in `width` columns.
  static func prefix(of text: String, within width: Int) -> String {
    var room = width
    return String(
      text.prefix { character in
        room -= columns(of: character)
        return room >= 0
      })
  }

  private static func suffix(of text: String, within width: Int) -> String {
    String(prefix(of: String(text.reversed()), within: width).reversed())
  }

  private static func columns(of character: Character) -> Int {
    guard let first = character.unicodeScalars.first, !first.isASCII else { return 1 }
    let isWide = wideRanges.contains { $0.contains(first.value) }
    return isWide || first.properties.isEmojiPresentation ? 2 : 1
  }

  /// East Asian scripts and symbols, which are two columns wide.
  private static let wideRanges: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97C, 0xAC00...0xD7A3,
    0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD,
  ]
}
