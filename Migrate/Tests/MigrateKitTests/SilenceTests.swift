import Foundation
import MigrateKit
import Testing

/// An equal way to write a part of a conversion.
struct EqualRewrite: CustomTestStringConvertible, Sendable {
  let name: String
  let find: String
  let replacement: String

  init(_ name: String, _ find: String, _ replacement: String) {
    self.name = name
    self.find = find
    self.replacement = replacement
  }

  var testDescription: String { name }

  static let all: [EqualRewrite] = [
    EqualRewrite(
      "renamed variable",
      "let receipt = try await api.send(session, id)\n    try await api.close(receipt)",
      "let answer = try await api.send(session, id)\n    try await api.close(answer)"),
    EqualRewrite(
      "inlined variable",
      "let receipt = try await api.send(session, id)\n    try await api.close(receipt)",
      "try await api.close(try await api.send(session, id))"),
    EqualRewrite(
      "async let that the next step waits for",
      "let receipt = try await api.send(session, id)\n    try await api.close(receipt)",
      "async let receipt = api.send(session, id)\n    try await api.close(receipt)"),
    EqualRewrite(
      "extracted variable", "return list.filter { $0.isVisible }",
      "let visible = list.filter { $0.isVisible }\n    return visible"),
    EqualRewrite(
      "renamed closure parameter", "list.filter { $0.isVisible }",
      "list.filter { item in item.isVisible }"),
    EqualRewrite(
      "cleanup on both paths instead of defer",
      "defer { isLoading = false }\n    let raw = try await api.fetch(page: page)\n    let list = try await api.decode(raw)\n    try store.save(list)\n    return list.filter { $0.isVisible }",
      "do {\nlet raw = try await api.fetch(page: page)\nlet list = try await api.decode(raw)\ntry store.save(list)\nlet result = list.filter { $0.isVisible }\nisLoading = false\nreturn result\n} catch {\nisLoading = false\nthrow error\n}"
    ),
    EqualRewrite(
      "extracted function",
      "let raw = try await api.fetch(page: page)\n    let list = try await api.decode(raw)\n",
      "let list = try await fetchList(page: page)\n"),
    EqualRewrite("self written out", "log.write(\"start\")", "self.log.write(\"start\")"),
    EqualRewrite(
      "guard as if",
      "guard !isLoading else { return items }", "if isLoading { return items }"),
    EqualRewrite(
      "if as guard",
      "if up {\n      try await api.upvote(post)\n    } else {\n      try await api.downvote(post)\n    }",
      "guard up else {\n      try await api.downvote(post)\n      return\n    }\n    try await api.upvote(post)"
    ),
    EqualRewrite(
      "branches swapped with the condition",
      "if up {\n      try await api.upvote(post)\n    } else {\n      try await api.downvote(post)\n    }",
      "if !up {\n      try await api.downvote(post)\n    } else {\n      try await api.upvote(post)\n    }"
    ),
    EqualRewrite(
      "ternary",
      "if up {\n      try await api.upvote(post)\n    } else {\n      try await api.downvote(post)\n    }",
      "up ? try await api.upvote(post) : try await api.downvote(post)"),
    EqualRewrite(
      "task on the main actor written out", "Task {\n      do", "Task { @MainActor in\n      do"),
    EqualRewrite(
      "code sent to the main actor",
      "log.write(error)\n        show(error)",
      "await MainActor.run {\n log.write(error)\n show(error)\n }"),
    EqualRewrite(
      "error with a name", "} catch {\n        log.write(error)\n        show(error)",
      "} catch let failure {\n        log.write(failure)\n        show(failure)"),
    EqualRewrite(
      "handler as a local function",
      "Task {\n      do",
      "func report(_ error: any Error) { log.write(error); show(error) }\n    Task {\n      do"),
    EqualRewrite(
      "typed catch",
      "guard error is NotFound else { throw error }\n      log.write(\"missing\")\n      return \"nobody\"",
      "if error is NotFound {\n log.write(\"missing\")\n return \"nobody\"\n }\n throw error"),
    EqualRewrite(
      "tuple of awaited values",
      "async let user = api.user(id: id)\n    async let avatar = api.avatar(id: id)\n    return try await (user, avatar)",
      "async let one = api.user(id: id)\n    async let two = api.avatar(id: id)\n    let first = try await one\n    let second = try await two\n    return (first, second)"
    ),
    EqualRewrite(
      "explicit return", "try await withCheckedThrowingContinuation {",
      "return try await withCheckedThrowingContinuation {"),
    EqualRewrite(
      "promise in place of a continuation",
      "try await withCheckedThrowingContinuation { continuation in",
      "try await withUnsafeThrowingContinuation { continuation in"),
    EqualRewrite(
      "nested conditions",
      "if let token {\n          continuation.resume(returning: token)\n        } else if let error {\n          continuation.resume(throwing: Failure(error))\n        } else {\n          continuation.resume(throwing: Failure.none)\n        }",
      "guard let token else {\n if let error { continuation.resume(throwing: Failure(error)) } else { continuation.resume(throwing: Failure.none) }\n return\n }\n continuation.resume(returning: token)"
    ),
    EqualRewrite(
      "weak reference to self", "Task {\n      do {",
      "Task { [weak self] in\n      guard let self else { return }\n      do {"),
    EqualRewrite(
      "comment and layout", "log.write(\"done\")",
      "// The session is over.\n    log\n      .write(\"done\")"),
    EqualRewrite(
      "value of a stored task",
      "let number = try await api.number(x)",
      "let pending = Task { try await self.api.number(x) }\n    let number = try await pending.value"
    ),
    EqualRewrite("comparison with true", "guard !isLoading else", "guard isLoading == false else"),
    EqualRewrite(
      "another function is added", "final class FeedController: UIViewController {",
      "final class FeedController: UIViewController {\n  func unrelated() { print(1) }"),
  ]
}

@Suite struct SilenceTests {
  @Test(arguments: EqualRewrite.all)
  func check_whenRewriteIsEqual_isSilent(rewrite: EqualRewrite) throws {
    var after = FeedFixture.after.replacingOccurrences(
      of: rewrite.find, with: rewrite.replacement)
    try #require(after != FeedFixture.after, "The fixture has no '\(rewrite.find)'.")
    if rewrite.name == "extracted function" {
      after += """

        extension FeedController {
          private func fetchList(page: Int) async throws -> [Item] {
            let raw = try await api.fetch(page: page)
            return try await api.decode(raw)
          }
        }
        """
    }
    let found = serious(FeedFixture.beforeTree, after)
    #expect(found.isEmpty, "\(found.summary)")
  }

  @Test func check_whenNothingChanged_findsNothing() {
    #expect(findings(FeedFixture.before, FeedFixture.before).isEmpty)
    #expect(findings(FeedFixture.after, FeedFixture.after).isEmpty)
  }
}
