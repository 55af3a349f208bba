/// The names, numbers, and operators in descriptions of values.
struct Words {
  private(set) var all: Set<Substring> = []

  init(_ text: String) { add(text) }

  init(_ paths: [Path]) {
    for path in paths {
      for event in path.events { add(event.key) }
      for question in path.decisions.keys { add(question) }
      add(path.ending.text)
    }
  }

  private mutating func add(_ text: String) {
    for word in text.split(whereSeparator: Self.separates)
    where !Self.neutral.contains(word) && !word.contains("…") {
      all.insert(word)
    }
  }

  /// Whether a text describes what is done with the elements of a collection.
  static func describesElements(_ text: String) -> Bool {
    text.contains("each(") || text.contains("ap{")
  }

  /// A text without its words.
  static func shape(_ text: String) -> String { text.filter(separates) }

  private static func separates(_ character: Character) -> Bool {
    "()[]{},.:\"\\ ".contains(character)
  }

  /// Words with which elements and the outcomes of their work are described.
  private static let neutral: Set<Substring> = [
    "each", "index", "map", "flatMap", "compactMap", "unordered", "group", "nil", "success",
    "failure", "result", "results", "promise", "error", "of", "fails", "!=",
  ]
}
