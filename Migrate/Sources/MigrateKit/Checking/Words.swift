import Foundation
import SwiftSyntax

/// The names, numbers, and operators in descriptions of values.
struct Words {
  private(set) var all: Set<Substring> = []

  init(_ text: String) { add(text) }

  init(_ paths: [Path]) {
    // Most paths have the same texts.
    var texts: Set<String> = []
    for path in paths {
      for event in path.events { texts.insert(event.key) }
      texts.formUnion(path.decisions.keys)
      texts.insert(path.ending.text)
    }
    for text in texts { add(text) }
  }

  private mutating func add(_ text: String) {
    for word in text.split(whereSeparator: Self.separates)
    where !Self.neutral.contains(word) && !word.contains("…") {
      all.insert(word)
    }
  }

  /// Whether a text describes a computation of which too little is known, such as one with a partial
  /// result, or with an array that is only empty on this path.
  static func isPartial(_ text: String) -> Bool {
    ["each0(", "[].", "+ ()", "reduce{", "zip(", "Dictionary("].contains {
      text.replacingOccurrences(of: "{each0(", with: "{").contains($0)
    } || text.hasPrefix("self +")
  }

  /// How often each word is in code.
  static func counts(_ code: Syntax) -> [Substring: Int] {
    code.tokens(viewMode: .sourceAccurate).reduce(into: [:]) { counts, token in
      for word in token.text.split(whereSeparator: separates) { counts[word, default: 0] += 1 }
    }
  }

  /// Whether a text describes what is done with the elements of a collection.
  static func describesElements(_ text: String) -> Bool {
    ["ap{", "reduce{", "{…}"].contains(where: text.contains)
      || ["each(", "each0(", "index("].contains { isWord($0[...], in: text) }
  }

  /// Whether a text contains a mark that isn't the end of a name, or a member.
  private static func isWord(_ mark: Substring, in text: String) -> Bool {
    var rest = text[...]
    while let range = rest.range(of: mark) {
      let before = text[..<range.lowerBound].last
      if before.map({ $0 != "." && !CaseName.isWord($0) }) ?? true { return true }
      rest = rest[range.upperBound...]
    }
    return false
  }

  /// A text without its words.
  static func shape(_ text: String) -> String { text.filter(separates) }

  static func separates(_ character: Character) -> Bool {
    switch character {
    case "(", ")", "[", "]", "{", "}", ",", ".", ":", "\"", "\\", " ": true
    default: false
    }
  }

  /// Words with which elements and the outcomes of their work are described.
  private static let neutral: Set<Substring> = [
    "each", "index", "map", "flatMap", "compactMap", "unordered", "group", "nil", "success",
    "failure", "result", "results", "promise", "error", "of", "fails", "!=",
  ]
}

extension String {
  /// What is between the quotes, if this is a text literal without values in it.
  var contentOfLiteral: String? {
    guard count >= 2, hasPrefix("\""), hasSuffix("\"") else { return nil }
    let content = dropFirst().dropLast()
    return content.contains("\"") ? nil : String(content)
  }

  /// The parts of text literals in a description, without the values in them.
  var literals: [Substring] {
    var result: [Substring] = []
    /// The depths of the parentheses around the literals that are open.
    var open: [Int] = []
    var depth = 0
    var isText = false
    var start = startIndex
    var index = startIndex
    while index < endIndex {
      let character = self[index]
      if isText, character == "\\", self[self.index(after: index)...].first == "(" {
        result.append(self[start..<index])
        index = self.index(after: index)
        isText = false
        depth += 1
      } else if character == "\"" {
        if isText {
          result.append(self[start..<index])
          open.removeLast()
        } else {
          open.append(depth)
        }
        isText.toggle()
        start = self.index(after: index)
      } else if !isText, character == "(" {
        depth += 1
      } else if !isText, character == ")" {
        depth -= 1
        if open.last == depth {
          isText = true
          start = self.index(after: index)
        }
      }
      index = self.index(after: index)
    }
    return result
  }
}
