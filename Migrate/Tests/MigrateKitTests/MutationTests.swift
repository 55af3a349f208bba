import Foundation
import MigrateKit
import Testing

/// A mistake in a conversion, and the rules of which one must find it.
struct Mutation: CustomTestStringConvertible, Sendable {
  let name: String
  let find: String
  let replacement: String
  let rules: Set<Rule>

  init(_ name: String, _ find: String, _ replacement: String, _ rules: Rule...) {
    self.name = name
    self.find = find
    self.replacement = replacement
    self.rules = Set(rules)
  }

  var testDescription: String { name }

  static let all: [Mutation] = [
    Mutation("ensure dropped", "defer { isLoading = false }\n", "\n", .effectLost),
    Mutation(
      "ensure only on success", "defer { isLoading = false }\n    let raw",
      "defer { }\n    isLoading = false\n    let raw", .orderChanged),
    Mutation("defer dropped in a task", "defer { spinner.stop() }", "", .effectLost),
    Mutation(
      "finalizer only on success", "defer { spinner.stop() }\n", "\n", .effectLost),
    Mutation(
      "finalizer only on failure", "log.write(error)\n", "spinner.stop()\nlog.write(error)\n",
      .effectRepeated),
    Mutation(
      "guard dropped", "guard !isLoading else { return items }", "", .effectAdded,
      .resultChanged, .effectRepeated),
    Mutation("guard negated", "guard !isLoading", "guard isLoading", .effectLost),
    Mutation("guard returns nothing", "return items }", "return [] }", .resultChanged),
    Mutation("guard throws", "return items }", "throw Busy() }", .errorAdded),
    Mutation("flag not set", "isLoading = true\n", "\n", .effectLost),
    Mutation("flag inverted", "isLoading = true\n", "isLoading = false\n", .argumentChanged),
    Mutation("log dropped", "log.write(\"start\")\n", "\n", .effectLost),
    Mutation(
      "log repeated", "log.write(\"done\")", "log.write(\"done\")\nlog.write(\"done\")",
      .effectRepeated),
    Mutation("log text changed", "\"missing\"", "\"unknown\"", .argumentChanged),
    Mutation("argument changed", "load(page: 1)", "load(page: 0)", .argumentChanged),
    Mutation("argument dropped", "api.send(session, id)", "api.send(session)", .argumentChanged),
    Mutation(
      "arguments swapped", "api.send(session, id)", "api.send(id, session)",
      .argumentChanged),
    Mutation("another call", "api.upvote(post)", "api.downvote(post)", .callReplaced),
    Mutation("branches swapped", "if up {", "if !up {", .callReplaced),
    Mutation(
      "optional try", "try await api.close(receipt)", "try? await api.close(receipt)",
      .errorSwallowed),
    Mutation(
      "optional try in the middle", "try store.save(list)", "try? store.save(list)",
      .errorSwallowed),
    Mutation("forced try", "try store.save(list)", "try! store.save(list)", .crash),
    Mutation("step dropped", "try store.save(list)\n", "\n", .effectLost),
    Mutation(
      "step not awaited", "try await api.close(receipt)",
      "Task { try await api.close(receipt) }", .errorSwallowed, .waitLost, .startsLater),
    Mutation("filter dropped", "list.filter { $0.isVisible }", "list", .resultChanged),
    Mutation("filter inverted", "$0.isVisible", "!$0.isVisible", .resultChanged),
    Mutation(
      "async let lost",
      "async let user = api.user(id: id)\n    async let avatar = api.avatar(id: id)\n    return try await (user, avatar)",
      "let user = try await api.user(id: id)\n    let avatar = try await api.avatar(id: id)\n    return (user, avatar)",
      .becameSequential),
    Mutation("results swapped", "await (user, avatar)", "await (avatar, user)", .resultChanged),
    Mutation(
      "async let of a dependent step",
      "let receipt = try await api.send(session, id)\n    try await api.close(receipt)",
      "async let receipt = api.send(session, id)\n    async let end: Void = api.close(id)\n    _ = try await (receipt, end)",
      .becameParallel, .argumentChanged),
    Mutation(
      "steps reordered",
      "let receipt = try await api.send(session, id)\n    try await api.close(receipt)\n    log.write(\"done\")",
      "let receipt = try await api.send(session, id)\n    log.write(\"done\")\n    try await api.close(receipt)",
      .orderChanged),
    Mutation(
      "group lost", "group.addTask { try await self.api.save(item) }",
      "try await self.api.save(item)", .becameSequential),
    Mutation(
      "group not awaited for each", "for item in list {\n", "if let item = list.first {\n",
      .effectLost),
    Mutation(
      "detached work on the main actor",
      "try await Task.detached { try self.engine.run(number) }.value", "try engine.run(number)",
      .executorChanged),
    Mutation(
      "update in a detached task", "Task {\n      do", "Task.detached {\n      do",
      .executorChanged),
    Mutation(
      "priority", "Task {\n      do", "Task(priority: .background) {\n      do",
      .priorityChanged),
    Mutation(
      "main actor lost", "final class FeedController: UIViewController",
      "final class FeedController", .executorChanged),
    Mutation(
      "continuation resumed twice",
      "continuation.resume(returning: token)\n",
      "continuation.resume(returning: token)\ncontinuation.resume(throwing: Failure.none)\n",
      .resumedTwice),
    Mutation(
      "continuation never resumed", "continuation.resume(throwing: Failure.none)", "",
      .neverResumed),
    Mutation(
      "continuation falls through", "} else if let error {", "}\nif let error {", .resumedTwice,
      .effectRepeated),
    Mutation(
      "continuation error replaced", "throwing: Failure(error)", "throwing: Failure.none",
      .argumentChanged),
    Mutation(
      "continuation error unwrapped", "throwing: Failure(error)", "throwing: error",
      .argumentChanged),
    Mutation(
      "continuation value and error swapped", "continuation.resume(returning: token)",
      "continuation.resume(throwing: Failure.none)", .argumentChanged, .effectLost),
    Mutation(
      "recover handles all errors", "guard error is NotFound else { throw error }", "",
      .errorSwallowed),
    Mutation(
      "recover for another error", "error is NotFound", "error is Offline",
      .conditionChanged),
    Mutation(
      "recover rethrows another error", "throw error }", "throw Failure.none }",
      .errorChanged),
    Mutation("recover with another value", "return \"nobody\"", "return \"\"", .resultChanged),
    Mutation("recover dropped", "return \"nobody\"", "throw error", .errorAdded),
    Mutation("error handler dropped", "show(error)\n", "\n", .effectLost),
    Mutation(
      "notification dropped",
      "NotificationCenter.default.post(name: .loaded, object: nil)", "", .effectLost),
    Mutation(
      "notification on both paths", "show(error)\n",
      "show(error)\nNotificationCenter.default.post(name: .loaded, object: nil)\n", .effectAdded,
      .effectRepeated),
    Mutation(
      "success code after the catch",
      "      } catch {\n        log.write(error)\n        show(error)\n      }\n",
      "      } catch {\n        log.write(error)\n        show(error)\n      }\n      table.reload()\n",
      .effectRepeated, .effectAdded),
    Mutation("assignment to another property", "cache = result", "total = result", .callReplaced),
    Mutation("assignment dropped", "cache = result\n", "\n", .effectLost),
    Mutation(
      "returns the wrong variable", "cache = result\n    return result",
      "cache = result\n    return number", .resultChanged),
    Mutation(
      "call in a loop", "try await api.close(receipt)",
      "for _ in 0..<2 { try await api.close(receipt) }", .effectRepeated),
    Mutation(
      "catch swallows in load", "let list = try await api.decode(raw)",
      "guard let list = try? await api.decode(raw) else { return [] }", .errorSwallowed),
    Mutation(
      "result used before it is saved",
      "let items = try await load(page: 1)\n        self.items = items",
      "self.items = []\n        let items = try await load(page: 1)", .argumentChanged,
      .effectLost),
  ]
}

@Suite struct MutationTests {
  @Test func check_whenConversionIsCorrect_findsNothing() {
    let found = findings(FeedFixture.before, FeedFixture.after).filter { $0.rule != .startsLater }
    #expect(found.isEmpty, "\(found.summary)")
    let cart = serious(CartFixture.before, CartFixture.after)
    #expect(cart.isEmpty, "\(cart.summary)")
  }

  @Test(arguments: Mutation.all)
  func check_whenConversionHasMistake_findsIt(mutation: Mutation) throws {
    try expectFinding(of: mutation, in: FeedFixture.beforeTree, FeedFixture.after)
  }

  @Test(arguments: CartFixture.mutations)
  func check_whenSecondConversionHasMistake_findsIt(mutation: Mutation) throws {
    try expectFinding(of: mutation, in: CartFixture.beforeTree, CartFixture.after)
  }

  private func expectFinding(
    of mutation: Mutation, in before: SourceTree, _ correct: String
  ) throws {
    let after = correct.replacingOccurrences(of: mutation.find, with: mutation.replacement)
    try #require(after != correct, "The fixture has no '\(mutation.find)'.")
    let found = serious(before, after)
    #expect(found.contains { mutation.rules.contains($0.rule) }, "\(found.summary)")
  }
}
