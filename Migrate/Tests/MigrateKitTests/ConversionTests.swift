import Foundation
import MigrateKit
import Testing

/// What a conversion keeps: names, comments, the queue, and what is returned.
@Suite struct ConversionTests {
  private func rewritten(_ text: String) throws -> String {
    let tree = SourceTree(contents: [("File.swift", text)])
    let rewrite = try TreeRewrite(tree)
    #expect(rewrite.findings.isEmpty, "\(rewrite.findings.summary)")
    return rewrite.changes.first?.after ?? text
  }

  @Test func rewrite_whenParameterHasItsName_declaresAnother() throws {
    let after = try rewritten(
      """
      import PromiseKit

      func copy(_ source: Path, resolver: Path) -> Promise<Int> {
        return load().then { archive in
          store(archive, source, resolver)
        }
      }
      """)
    #expect(after.contains("let source2 = load()"), "\(after)")
    #expect(after.contains("store(archive, source, resolver)"))
    #expect(after.contains("return Promise { resolver2 in"))
  }

  @Test func rewrite_whenHandlerBlocks_staysAsItIs() throws {
    let text = """
      import PromiseKit

      func details(_ item: Item) -> Promise<Int> { server.details(item) }
      func refresh() {
        load().done { item in
          show(try details(item).wait())
        }.cauterize()
      }
      """
    let rewrite = try TreeRewrite(SourceTree(contents: [("File.swift", text)]))
    #expect(rewrite.left == ["blocking": 1], "\(rewrite.left)")
    #expect(rewrite.changes.first?.after.contains("load().done { item in") ?? true)
  }

  @Test func rewrite_whenHandlerRejects_throws() throws {
    let after = try rewritten(
      """
      import PromiseKit

      func size() -> Promise<Int> {
        return load().recover { error -> Promise<Int> in
          note(error)
          return Promise(error: Failure.other)
        }
      }

      func check() -> Promise<Int> {
        return load().then { file -> Promise<Int> in
          guard file.isEmpty else { return Promise(error: Failure.empty) }
          return Promise.value(0)
        }
      }
      """)
    #expect(after.contains("throw Failure.empty"), "\(after)")
    #expect(after.contains("throw Failure.other"), "\(after)")
    #expect(!after.contains("Promise(error:"), "\(after)")
  }

  @Test func rewrite_whenHandlerCreatesPromise_writesItsType() throws {
    let after = try rewritten(
      """
      import PromiseKit

      func size() -> Promise<Int> {
        return load().then { file in
          Promise { seal in file.measure(seal.resolve) }
        }
      }
      """)
    #expect(after.contains("Promise<Int> { seal in file.measure(seal.resolve) }"), "\(after)")
  }

  @Test func rewrite_whenScopeHasTwoChains_declaresTwoConstants() throws {
    let after = try rewritten(
      """
      import PromiseKit

      func refresh() {
        load().done { show($0) }.cauterize()
        reload().done { show($0) }.cauterize()
      }
      """)
    #expect(after.contains("let source = load()"), "\(after)")
    #expect(after.contains("let source2 = reload()"), "\(after)")
  }

  @Test func rewrite_whenStatementFollowsOnItsLine_keepsSemicolon() throws {
    let after = try rewritten(
      """
      import PromiseKit

      func refresh() {
        start(); load().done { show($0) }.cauterize(); stop()
      }
      """)
    #expect(after.contains("  start(); let source = load()\n"), "\(after)")
    #expect(after.contains("\n  }; stop()\n"), "\(after)")
  }

  @Test(arguments: [
    "after(seconds: 1).done { stop() }", "after(seconds: 1).tap { _ in stop() }.cauterize()",
  ])
  func rewrite_whenSourceHasChain_convertsAroundIt(inner: String) throws {
    let after = try rewritten(
      """
      import PromiseKit

      func run() -> Promise<Void> {
        return Promise<Int> { seal in
          start(seal.resolve)
          \(inner)
        }.done { code in
          show(code)
        }
      }
      """)
    #expect(after.contains("      \(inner)\n    }\n    Task { @MainActor in"), "\(after)")
    #expect(after.contains("let code = try await source.async()"), "\(after)")
  }

  @Test func rewrite_whenNothingElseCanFail_writesOneTry() throws {
    let after = try rewritten(
      """
      import PromiseKit

      func refresh(done: @escaping (Int) -> Void, later: @escaping (Int) throws -> Void) {
        load().done(store).cauterize()
        load().done(done).cauterize()
        load().done(later).cauterize()
        load().done(save).cauterize()
        load().thenMap { other($0) }.mapValues { $0 + 1 }.filterValues { $0 > 1 }.done { show($0) }.cauterize()
      }

      func store(_ number: Int) {}
      func save(_ number: Int) throws {}
      """)
    #expect(after.contains("\n      (store)(try await source.async())"), "\(after)")
    #expect(after.contains("\n      (done)(try await source2.async())"), "\(after)")
    #expect(after.contains("\n      try (later)(try await source3.async())"), "\(after)")
    #expect(after.contains("\n      try (save)(try await source4.async())"), "\(after)")
    #expect(
      after.contains("let value = ((try await when(fulfilled: (try await source5"), "\(after)")
  }

  @Test(arguments: [
    "api?.load().done { show($0) }.cauterize()", "self.api?.load().done { show($0) }.cauterize()",
    "api?.load().map { $0 + 1 }.done { show($0) }.catch { _ in }",
  ])
  func rewrite_whenChainStartsWithOptional_leavesIt(chain: String) throws {
    let after = try rewritten(
      """
      import PromiseKit

      func refresh() {
        \(chain)
      }
      """)
    #expect(after.contains("  // TODO(pledge-migrate): optional: "), "\(after)")
    #expect(after.contains("  \(chain)\n"), "\(after)")
  }

  @Test(arguments: ["PromiseKit", "Promises"], [true, false])
  func rewrite_whenPromiseHasSeveralChains_leavesTheirOrder(
    library: String, isProperty: Bool
  ) throws {
    let chain = library == "Promises" ? "then" : "done"
    let after = try rewritten(
      """
      import \(library)

      final class Screen {
        \(isProperty ? "var loaded: Promise<Int>" : "")

        func refresh(\(isProperty ? "" : "_ loaded: Promise<Int>")) {
          loaded.\(chain) { show($0) }.catch { _ in }
      \(isProperty ? "  }\n\n  func log() {" : "")
          \(isProperty ? "self." : "")loaded.\(chain) { write($0) }.catch { _ in }
          other.\(chain) { show($0) }.catch { _ in }
        }

        func close(_ loaded: Promise<Int>) {}
      }
      """)
    #expect(after.components(separatedBy: "TODO(pledge-migrate): stored:").count == 3, "\(after)")
    #expect(after.contains("await other."), "\(after)")
  }

  @Test func rewrite_whenHandlerMeansAnotherError_keepsItsMeaning() throws {
    let after = try rewritten(
      """
      import PromiseKit

      func explain(error: String) {
        load().done { show($0) }.catch { _ in show(error) }
      }
      """)
    #expect(after.contains("catch let failure where !failure.isCancelled {"), "\(after)")
  }

  @Test func rewrite_whenGoogleErrorHasAnotherName_throwsIt() throws {
    let after = try rewritten(
      """
      import Promises

      func load(_ id: Int) -> Promise<Int> {
        return fetch(id).catch { failure in report(failure) }
      }
      """)
    #expect(after.contains("catch let failure {"), "\(after)")
    #expect(after.contains("throw failure"), "\(after)")
  }

  @Test(arguments: [
    ("{ value in self?.show(value) }", "self?.show(value)"),
    ("{ value in print(value) }", "print(value)"),
  ])
  func rewrite_whenGoogleHandlerReturnsNoPromise_keepsItsStatement(
    handler: String, statement: String
  ) throws {
    let after = try rewritten(
      """
      import Promises

      func load(_ id: Int) {
        fetch(id).then(on: .main) \(handler).catch { report($0) }.always { stop() }
      }
      """)
    #expect(after.contains("let value = try await source.get()\n      \(statement)"), "\(after)")
    #expect(after.hasSuffix("    stop()\n  }\n}"), "\(after)")
  }

  @Test func rewrite_whenLastGoogleHandlerReturnsEarly_convertsIfNothingFollows() throws {
    let handler = "{ value in\n    guard value > 0 else { return }\n    show(value)\n  }"
    func chain(_ end: String) -> String {
      """
      import Promises

      func load(_ id: Int) {
        fetch(id).then(on: .main) \(handler)\(end)
      }
      """
    }
    let after = try rewritten(chain(".always { stop() }.catch { report($0) }"))
    #expect(after.contains("guard value > 0 else { return }"))
    #expect(after.contains("defer {"), "\(after)")
    // Here, `return` would skip `always`.
    let other = try rewritten(chain(".catch { report($0) }.always { stop() }"))
    #expect(other.contains("TODO(pledge-migrate): early-return"), "\(other)")
  }

  @Test func rewrite_whenHandlerKeepsSelf_leavesLaterWeakUses() throws {
    let text = """
      import PromiseKit

      final class Screen {
        func refresh() {
          load().get { [weak self] value in
            guard let self = self else { return }
            self.show(value)
          }.done { [weak self] value in
            self?.close(value)
          }.cauterize()
        }
      }
      """
    let tree = SourceTree(contents: [("File.swift", text)])
    #expect(try TreeRewrite(tree).convertedChains == 0)
  }

  @Test func rewrite_whenChainHasComments_keepsAll() throws {
    let after = try rewritten(
      """
      import PromiseKit

      func refresh() {
        load()  // From the disk.
          // What the user sees.
          .done { value in  // The newest.
            // Below the title.
            show(value)  // Or nothing.
            // Later: the picture.
          }
          .catch { _ in  /* A toast. */
            report()
          }
      }
      """)
    for comment in [
      "From the disk", "What the user", "The newest", "Below the", "Or nothing", "Later: the",
      "A toast",
    ] {
      #expect(after.components(separatedBy: comment).count == 2, "\(comment):\n\(after)")
    }
    #expect(!after.contains(" \n"))
  }

  @Test func rewrite_whenWorkInFirstlyCanThrow_keepsFirstly() throws {
    let after = try rewritten(
      """
      import PromiseKit

      func refresh() {
        firstly {
          load(try request())
        }.done { show($0) }.catch { report($0) }
      }
      """)
    #expect(after.contains("let source = firstly {"), "\(after)")
  }

  @Test func rewrite_whenPromiseIsAwaited_leavesItWithoutComment() throws {
    let text = """
      import PromiseKit

      func refresh() async throws {
        let rows = try await load().map { $0.rows }.async()
        show(try await when(fulfilled: rows.map { row in fetch(row).map { $0.name } }).async())
      }
      """
    #expect(try rewritten(text) == text)
  }

  @Test func check_whenHandlerCrashes_followsNoLaterHandler() throws {
    let text = """
      import PromiseKit

      func compare() {
        load().ensure {
          expect(try! expected())
        }.catch { fail($0) }
      }
      """
    #expect(try rewritten(text).contains("let source = load()"))
  }

  @Test func rewrite_whenProgramSetsDefaultQueue_namesIt() throws {
    let chains = """
      import Promises

      func first() { load().then { show($0) }.catch { report($0) } }
      func second() { load().then(on: .main) { print($0) }.catch(on: .main) { report($0) } }
      """
    let setting = """
      import Promises

      func start() { DispatchQueue.promises = .global() }
      """
    let tree = SourceTree(contents: [("Chains.swift", chains), ("Start.swift", setting)])
    let rewrite = try TreeRewrite(tree)
    #expect(rewrite.convertedChains == 2)
    let after = try #require(rewrite.changes.first?.after)
    #expect(after.contains("Task(on: .promises, after: source) {"), "\(after)")
  }
}
