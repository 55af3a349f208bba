import MigrateKit
import Testing

/// Converts a file.
private func rewritten(_ text: String, addsTwins: Bool = false) throws -> String {
  let tree = SourceTree(contents: [("File.swift", text)])
  return try TreeRewrite(tree, addsTwins: addsTwins).changes.first?.after ?? text
}

@Suite struct RewriteTests {
  static let screen = """
    import PromiseKit

    final class Screen {
      func refresh() {
        // Shown while the items load.
        spinner.start()
        firstly {
          store.items()
        }.done { items in
          self.items = items  // The newest.
        }.ensure {
          self.spinner.stop()
        }.catch { error in
          self.show(error)
        }
      }
    }
    """

  @Test func rewrite_whenChainIsDiscarded_awaitsItsPromiseInTask() throws {
    let after = try rewritten(Self.screen)
    #expect(
      after == """
        import PromiseKit

        final class Screen {
          func refresh() {
            // Shown while the items load.
            spinner.start()
            let source = store.items()
            Task { @MainActor in
              do {
                defer {
                  self.spinner.stop()
                }
                let items = try await source.async()
                self.items = items  // The newest.
              } catch let error where !error.isCancelled {
                self.show(error)
              } catch {}
            }
          }
        }
        """)
  }

  @Test func rewrite_whenDone_changesNothingAgain() throws {
    let once = try rewritten(FeedFixture.before)
    #expect(once != FeedFixture.before)
    #expect(try rewritten(once) == once)
  }

  @Test func rewrite_whenNothingCanFail_writesNoTry() throws {
    let text = """
      import PromiseKit

      func flash() {
        after(seconds: 1).map { 7 }.done { count in
          guard count > 0 else { return }
          hide(count)
        }
        save().done { hide(2) }.catch { _ in }
        after(seconds: 3).done { try store(3) }.catch { _ in
          // Never.
        }
      }

      func save() -> Promise<Void> { .value(()) }
      """
    let after = try rewritten(text)
    #expect(
      after.contains(
        """
          let source = after(seconds: 1)
          Task { @MainActor in
            _ = await source.async()
            let count = 7
            guard count > 0 else { return }
            hide(count)
          }
          let source2 = save()
          Task { @MainActor in
            do {
              _ = try await source2.async()
              hide(2)
            } catch {}
          }
        """), "\(after)")
    #expect(after.contains("// Never.") && after.contains("      try store(3)"), "\(after)")
    #expect(serious(text, after).isEmpty, "\(serious(text, after).summary)")
  }

  @Test func check_whenRewritten_findsNothing() throws {
    for text in [Self.screen, FeedFixture.before] {
      let found = serious(text, try rewritten(text))
      #expect(found.isEmpty, "\(found.summary)")
    }
  }

  @Test func check_whenTwinsAreAdded_findsNothing() throws {
    let after = try rewritten(FeedFixture.before, addsTwins: true)
    #expect(after.contains("func load(page: Int) async throws -> [Item] {"))
    let found = serious(FeedFixture.before, after)
    #expect(found.isEmpty, "\(found.summary)")
    #expect(try rewritten(after, addsTwins: true) == after)
  }

  @Test func rewrite_whenFunctionReturnsStoredPromise_addsOtherTwins() throws {
    let text = """
      import PromiseKit

      final class Cache {
        private var users: [Int: Promise<String>] = [:]

        func user(_ id: Int) -> Promise<String> {
          if let hit = users[id] { return hit }
          let promise = load(id)
          users[id] = promise
          return promise
        }

        func load(_ id: Int) -> Promise<String> { .value("u\\(id)") }
      }
      """
    let rewrite = try TreeRewrite(tree(text), addsTwins: true)
    #expect(rewrite.findings.isEmpty, "\(rewrite.findings.summary)")
    let after = rewrite.changes.first?.after ?? text
    #expect(after.contains("func load(_ id: Int) async throws -> String {"), "\(after)")
  }

  @Test(arguments: [
    (".done(on: queue) { _ in }.catch { _ in }", "executor"),
    (
      ".map { x -> Int in if x { return 1 }; return 2 }.done { _ in }.catch { _ in }",
      "early-return"
    ),
    (".then { a in b(a) }.ensure { stop() }.done { c in d(c) }.catch { _ in }", "ensure-inside"),
    (".recover { _ in other() }.done { _ in }.catch { _ in }", "recover-inside"),
    (".tap { print($0) }.done { _ in }.catch { _ in }", "operator"),
    (".then { a in b(a) }.done { c in let a = c; d(a) }.catch { _ in }", "names"),
    (".done(on: queue) { _ in }.catch(on: nil) { _ in }", "executor"),
    (".done { [weak self] _ in self?.x() }.catch { _ in self.y() }", "capture"),
    ("?.next().done { _ in }.catch { _ in }", "optional"),
  ])
  func rewrite_whenDecisionIsNeeded_namesIt(operators: String, decision: String) throws {
    let text = """
      import PromiseKit

      func run() {
        load()\(operators)
      }
      """
    let after = try rewritten(text)
    #expect(after.contains("// TODO(pledge-migrate): \(decision):"), "\(after)")
    #expect(after.contains("load()\(operators)"))
    #expect(try rewritten(after) == after)
  }

  @Test(arguments: [
    "func run() -> Promise<Int> { load().compactMap { Int($0) } }",
    "deinit { api.close().tap { print($0) }.cauterize() }",
    "/* before */ func run() -> Promise<Int> { load().compactMap { Int($0) } }",
  ])
  func rewrite_whenChainDoesNotStartItsLine_namesDecisionAboveIt(line: String) throws {
    let after = try rewritten("import PromiseKit\n\nfinal class Model {\n  \(line)\n}\n")
    let lines = after.split(separator: "\n")
    #expect(lines.contains { $0.hasPrefix("  // TODO(pledge-migrate): operator:") }, "\(after)")
    #expect(lines.contains("  \(line)"), "\(after)")
    #expect(try rewritten(after) == after)
  }

  @Test(arguments: [
    (
      """
      func run() {
        #if DEBUG
        load().done { print($0) }.cauterize()
        #else
        load().done { _ in }.cauterize()
        #endif
      }
      """, "alternatives"
    ),
    (
      """
      #if os(iOS)
      func run() { load().done { show($0) }.cauterize() }
      #else
      func run() { load().done { print($0) }.cauterize() }
      #endif
      """, "alternatives"
    ),
    (
      """
      func run() {
        load()
          #if DEBUG
          .get { print($0) }
          #endif
          .done { show($0) }.cauterize()
      }
      """, "alternatives"
    ),
    (
      """
      func run() {
        load().done {
          #if DEBUG
          print($0)
          #else
          show($0)
          #endif
        }.cauterize()
      }
      """, "alternatives"
    ),
    (
      """
      func run() { #logged { load().done { show($0) }.cauterize() } }
      """, "macro"
    ),
  ])
  func rewrite_whenCodeIsInMacroOrHasAlternatives_leavesItAndSaysSo(
    code: String, reason: String
  ) throws {
    let tree = SourceTree(contents: [("File.swift", "import PromiseKit\n\n" + code)])
    let rewrite = try TreeRewrite(tree)
    #expect(rewrite.changes.isEmpty, "\(rewrite.changes.first?.after ?? "")")
    #expect(rewrite.remarks.contains { $0.hasPrefix("File.swift:") && $0.contains(reason) })
  }

  @Test func rewrite_whenIfHasOneSide_convertsInsideIt() throws {
    let after = try rewritten(
      """
      import PromiseKit

      #if os(iOS)
      func run() { load().done { show($0) }.cauterize() }
      #endif
      """)
    #expect(after.contains("let source = load()"))
    #expect(after.contains("#if os(iOS)"))
  }

  @Test(arguments: [
    ("func run( {", "doesn't parse"),
    ("<<<<<<< HEAD\nlet a = 1\n=======\nlet a = 2\n>>>>>>> other\n", "conflict"),
  ])
  func rewrite_whenFileIsBroken_writesNothing(text: String, reason: String) {
    let tree = SourceTree(contents: [("Good.swift", Self.screen), ("Bad.swift", text)])
    let error = #expect(throws: MigrateError.self) { try TreeRewrite(tree) }
    #expect(error?.description.contains("Bad.swift:1") == true)
    #expect(error?.description.contains(reason) == true)
  }

  @Test func rewrite_whenAttributeHasSpace_convertsFile() throws {
    let tree = tree("@available (macOS 13, *) struct Old {}\n" + Self.screen)
    #expect(try TreeRewrite(tree).convertedChains > 0)
  }

  @Test func rewrite_whenHandlerDeterminesTypeOfPromise_writesIt() throws {
    let before = """
      import PromiseKit
      struct Task {}
      func load<T>(_ path: String) -> Promise<T> { net.get(path) }
      final class Session {
        func logout() {
          Promise { seal in net.reset { seal.fulfill(()) } }.done { self.forget() }.cauterize()
        }
        func open() {
          load("tasks").done { (tasks: [Task]) in self.show(tasks) }.cauterize()
        }
        func guess() {
          load("tasks").done { tasks in self.show(tasks) }.cauterize()
        }
      }
      """
    let rewrite = try TreeRewrite(SourceTree(contents: [("File.swift", before)]))
    let text = try #require(rewrite.changes.first?.after)
    #expect(text.contains("let source: Promise<Void> = Promise { seal in"), "\(text)")
    #expect(text.contains("let source: Promise<[Task]> = load(\"tasks\")"))
    #expect(text.contains("TODO(pledge-migrate): type: "))
    // The program has a type of its own with the name of Swift's.
    #expect(text.contains("_Concurrency.Task { @MainActor in"))
    #expect(rewrite.convertedChains == 2)
  }
}
