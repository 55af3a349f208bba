import MigrateKit
import Testing

/// Two versions of a piece of code, with what the check must find.
struct Pair: CustomTestStringConvertible, Sendable {
  let name: String
  let before: String
  let after: String
  /// One of these rules has to be found; if there are none, the versions do the same.
  let rules: [Rule]

  init(_ name: String, _ before: String, _ after: String, finds rules: [Rule]) {
    self.name = name
    self.before = before
    self.after = after
    self.rules = rules
  }

  var testDescription: String { name }
}

/// Small conversions that were written by hand, right and wrong.
@Suite struct PairTests {
  @Test(
    arguments: [
      Pair.equalPromiseKit, Pair.changedPromiseKit, Pair.google, Pair.async, Pair.groups,
      Pair.objects, Pair.syntax, Pair.lists, Pair.apps,
    ].flatMap { $0 })
  func check_whenPairIsCompared_findsWhatChanged(pair: Pair) {
    let found = serious(pair.before, pair.after)
    if pair.rules.isEmpty {
      #expect(found.isEmpty, "\(found.summary)")
    } else {
      #expect(found.contains { pair.rules.contains($0.rule) }, "\(found.summary)")
    }
  }
}
