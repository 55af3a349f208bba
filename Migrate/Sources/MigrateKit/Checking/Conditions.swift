import Foundation

extension Comparison {
  /// Describes the paths on which a difference occurs: the answers that all of them share, and that
  /// others don't.
  func condition(_ divergence: Divergence) -> String {
    let with = Set(divergence.pairs)
    guard with.count < pairs.count, let sample = divergence.pairs.first else { return "" }
    func answer(_ pair: Int, _ question: String) -> Bool? {
      old[pairs[pair].old].decisions[question] ?? new[pairs[pair].new].decisions[question]
    }
    var common = old[pairs[sample].old].decisions
      .merging(new[pairs[sample].new].decisions) { first, _ in first }
    for pair in divergence.pairs.dropFirst() {
      common = common.filter { answer(pair, $0.key) == $0.value }
    }
    let others = pairs.indices.filter { !with.contains($0) }
    let telling = common.filter { question, holds in
      others.contains { answer($0, question) == !holds }
    }
    return describe(telling)
  }

  func describe(_ decisions: [String: Bool]) -> String {
    let ranked = decisions.sorted { first, second in
      (rank(first), first.key) < (rank(second), second.key)
    }
    let failing = ranked.filter { rank($0) <= 1 }
    return (failing.isEmpty ? ranked : failing).prefix(2).map { described($0.key, $0.value) }
      .joined(separator: " and ")
  }

  func rank(_ decision: (key: String, value: Bool)) -> Int {
    if decision.key.hasPrefix("fails: "), decision.value { return 0 }
    if decision.key.hasSuffix(".isCancelled"), decision.value { return 1 }
    return decision.key.hasPrefix("fails: ") ? 3 : 2
  }
}

func described(_ question: String, _ answer: Bool) -> String {
  let text = readable(question)
  if question.hasPrefix("fails: ") {
    return "`\(readable(String(question.dropFirst(7))))` \(answer ? "fails" : "succeeds")"
  }
  if question.hasSuffix(".isCancelled") {
    return answer ? "the error is a cancellation" : "the error isn't a cancellation"
  }
  if question.hasSuffix(" != nil") {
    return "`\(text.dropLast(7))` \(answer ? "isn't nil" : "is nil")"
  }
  if question.contains(" ~ ") {
    let parts = text.components(separatedBy: " ~ ")
    return "`\(parts[0])` \(answer ? "matches" : "doesn't match") `\(parts.last ?? "")`"
  }
  return "`\(text)` is \(answer)"
}

/// A description without the marks that make it unique.
func readable(_ text: String) -> String {
  var text = text
  if let mark = text.firstIndex(of: "@") { text = String(text[..<mark]) }
  text = text.replacingOccurrences(of: "′", with: "")
  return text.count > 90 ? String(text.prefix(80)) + "…" : text
}

extension Event {
  var summary: String {
    switch kind {
    case .set, .settle, .block: readable(key)
    case .call: readable(key)
    }
  }
}
