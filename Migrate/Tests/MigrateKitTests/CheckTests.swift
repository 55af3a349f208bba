import Foundation
import Testing

@testable import MigrateKit

@Suite struct CheckTests {
  static let before = """
    import PromiseKit

    final class Store {
      func save(_ item: Item) -> Promise<Void> {
        api.send(item).done { self.count += 1 }
      }
    }
    """

  static func after(_ attribute: String) -> String {
    """
    final class Store {
      \(attribute)
      func save(_ item: Item) async throws {
        try await api.send(item)
        count += 1
      }
    }
    """
  }

  @Test func check_whenFunctionIsNotIsolated_findsOtherExecutor() {
    #expect(findings(Self.before, Self.after("")).map(\.rule) == [.executorChanged])
    #expect(findings(Self.before, Self.after("@MainActor")).isEmpty)
  }

  @Test func check_whenBuildIsOnMainActorByDefault_isSilent() {
    var settings = BuildSettings()
    settings.isMainActorByDefault = true
    let found = Checker(
      old: SourceTree(contents: [("File.swift", Self.before)]),
      new: SourceTree(contents: [("File.swift", Self.after(""))], settings: settings)
    ).run()
    #expect(found.isEmpty, "\(found.summary)")
  }

  @Test func check_whenCommentAcceptsRule_reportsNothing() {
    let text = Self.after("// pledge-migrate: accept executor-changed: the counter is atomic")
    #expect(findings(Self.before, text).notAccepted(by: nil).isEmpty)
    let other = Self.after("// pledge-migrate: accept effect-lost")
    #expect(findings(Self.before, other).notAccepted(by: nil).count == 1)
  }

  @Test func check_whenFunctionsOfFileLoseOneQueue_reportsThemTogether() throws {
    let before = """
      import PromiseKit
      func save(_ item: Item) -> Promise<Void> { api.send(item).done(on: .main) { show(item) } }
      func drop(_ item: Item) -> Promise<Void> { api.send(item).done(on: .main) { hide(item) } }
      func swap(_ item: Item) -> Promise<Void> { api.send(item).done(on: .main) { turn(item) } }
      """
    let accepted = "// pledge-migrate: accept executor-changed"
    let after = """
      func save(_ item: Item) async throws { try await api.send(item); show(item) }
      func drop(_ item: Item) async throws { try await api.send(item); hide(item) }
      \(accepted)
      func swap(_ item: Item) async throws { try await api.send(item); turn(item) }
      """
    let found = findings(before, after)
    #expect(found.count == 3)
    let all = found.notAccepted(by: nil).byCause
    #expect(
      all.map(\.rule) == [.executorChanged] && all.first?.others.map(\.function) == ["drop(_:)"])
    #expect(all.first?.text.contains("The same in 1 more function.") == true)
    #expect(all.first?.lines.contains("also: File.swift:2 in drop(_:)") == true)
  }

  @Test func check_whenBaselineAcceptsFinding_reportsNothing() {
    let found = findings(Self.before, Self.after(""))
    #expect(found.notAccepted(by: Baseline(found)).isEmpty)
    // A baseline doesn't depend on line numbers.
    let moved = findings(Self.before, "\n\n" + Self.after(""))
    #expect(moved.notAccepted(by: Baseline(found)).isEmpty)
  }

  @Test func check_whenCancellationReachesHandler_notesIt() {
    let before = """
      import PromiseKit
      @MainActor func run() { load().done { show($0) }.catch { report($0) } }
      """
    let after = """
      @MainActor func run() {
        Task { do { show(try await load()) } catch { report(error) } }
      }
      """
    let found = findings(before, after)
    #expect(Set(found.map(\.rule)) == [.startsLater, .cancellation], "\(found.summary)")
  }

  @Test func check_whenGooglePromisesAreConverted_findsLostCleanup() {
    let before = """
      import Promises
      @MainActor func run() -> Promise<Int> {
        load().then { value -> Promise<Int> in parse(value) }.always { stop() }
      }
      """
    let right = """
      @MainActor func run() async throws -> Int {
        defer { stop() }
        let value = try await load()
        return try await parse(value)
      }
      """
    #expect(findings(before, right).isEmpty, "\(findings(before, right).summary)")
    let wrong = right.replacingOccurrences(of: "defer { stop() }", with: "")
      .replacingOccurrences(
        of: "return try await parse(value)",
        with: "let result = try await parse(value)\nstop()\nreturn result")
    #expect(findings(before, wrong).contains { $0.rule == .effectLost })
  }

  @Test func report_whenReceiverIsUnknown_saysSo() {
    let text = """
      import PromiseKit
      import Elsewhere
      func run() {
        elsewhere.things().map { $0 + 1 }
        load().map { $0 + 1 }.done { print($0) }.cauterize()
      }
      func load() -> Promise<Int> { .value(1) }
      """
    let report = Report(SourceTree(contents: [("File.swift", text)]))
    #expect(report.undecided == ["File.swift:4"])
    #expect(report.summary.operators == 3)
    #expect(report.order == ["File.swift:7: load()"])
  }

  @Test(arguments: [
    "for name in elsewhere.things().map(\\.name) { print(name) }",
    "print(elsewhere.things().map { $0 + 1 } == [2])",
    "print(\"things: \\(elsewhere.things().map { $0 + 1 })\")",
    "print(Set(elsewhere.things().map(\\.name)))",
    "let names: [String] = elsewhere.things().map(\\.name)\nprint(names)",
    "func names() -> [String] { elsewhere.things().map(\\.name) }",
    "let sum = total.rows.map { $0 + 1 }\nprint(sum)",
    "let rows = elsewhere.response.map([Int].self)\nprint(rows)",
    "let sum = elsewhere.things.lazy.map { $0 + 1 }.max()\nprint(sum)",
    "let total = elsewhere.total\nlet rows = elsewhere.rows()\nprint(total.rows.map { $0 }, rows)",
  ])
  func report_whenResultIsUsedAsOtherType_decidesThatReceiverIsNoPromise(body: String) {
    let text = """
      import PromiseKit
      import Elsewhere
      struct Total { var rows: [Int] }
      func run() -> Promise<Int> {
        \(body)
        return load().map { $0 + 1 }
      }
      func load() -> Promise<Int> { .value(1) }
      """
    let report = Report(SourceTree(contents: [("File.swift", text)]))
    #expect(report.undecided == [])
    #expect(report.summary.operators == 1)
  }

  @Test func report_whenFunctionIsOfAnotherLibrary_findsNoPromise() {
    let text = """
      import Mocks
      import Promises
      func prepare(_ stub: Stub) {
        when(stub.answer()).then { 1 }
      }
      """
    let report = Report(SourceTree(contents: [("File.swift", text)]))
    #expect(report.undecided == [])
    #expect(report.summary.operators == 0)
  }

  @Test(arguments: [
    // The others have parameters that this call leaves out.
    "loader.request(7)", "Loader.shared.request(7)", "self.loader.request(7)",
    // The receiver's type has the function.
    "loader.load(7)", "Loader.shared.load(7)", "Loader().load(7)", "makeLoader().load(7)",
    "Screen.loader.load(7)",
  ])
  func report_whenFunctionsShareTheirName_knowsWhichOneACallMeans(call: String) {
    let text = """
      import PromiseKit
      import Elsewhere
      final class Loader {
        static let shared = Loader()
        func request(_ id: Int) -> Promise<Int> { .value(id) }
        func load(_ id: Int) -> Promise<Int> { .value(id) }
      }
      struct Manager {
        func request(_ id: Int, sender: Sender, _ handler: @escaping (Int) -> Void) -> Ticket { Ticket() }
        func load(_ id: Int) -> [Int] { [id] }
      }
      final class Screen {
        static let loader = Loader()
        let loader: Loader
        func makeLoader() -> Loader { loader }
        func next() -> Promise<Int> { \(call).map { $0 + 1 } }
        func show() { \(call).map { $0 + 1 } }
        func list() { Manager().load(7).map { print($0) } }
      }
      """
    let report = Report(SourceTree(contents: [("File.swift", text)]))
    #expect(report.undecided == [])
    #expect(report.summary.operators == 2)
  }

  @Test func report_whenOnlyTestsSetTheDefaultQueue_readsTheProgramWithoutIt() {
    let program = """
      import PromiseKit
      func load() -> Promise<Int> { .value(1) }
      func show() -> Promise<Void> { load().done { print($0) } }
      """
    let setting = "PromiseKit.conf.Q = (map: nil, return: nil)"
    func exact(_ path: String, _ setting: String) -> Int {
      let files = [("Program.swift", program), (path, setting)]
      return Report(SourceTree(contents: files)).summary.exactOperators
    }
    #expect(exact("Specs/Setup.swift", "import Quick\nfunc setUp() { \(setting) }") == 1)
    #expect(exact("AppTests/Setup.swift", "func setUp() { \(setting) }") == 1)
    #expect(exact("Setup.swift", "func setUp() { \(setting) }") == 0)
  }

  @Test func report_whenTreeHasCopyOfLibrary_leavesItOut() {
    let library = [
      ("Vendor/PromiseKit/Promise.swift", "public final class Promise<T>: Thenable {}"),
      ("Vendor/PromiseKit/Sources/Guarantee.swift", "public final class Guarantee<T>: Thenable {}"),
      (
        "Vendor/PromiseKit/Thenable.swift",
        """
        public protocol Thenable: AnyObject { associatedtype T }
        extension Thenable {
          func asVoid() -> Promise<Void> { map(on: nil) { _ in } }
          func map<U>(on: DispatchQueue?, _ transform: @escaping (T) -> U) -> Promise<U> { fatalError() }
        }
        """
      ),
    ]
    let program = """
      import PromiseKit
      func load() -> Promise<Int> { .value(1) }
      func show() -> Promise<Void> { load().asVoid() }
      """
    let report = Report(SourceTree(contents: library + [("Program.swift", program)]))
    #expect(report.summary.operators == 1)
    #expect(report.summary.exactOperators == 1)
    #expect(SourceTree(contents: library).files.count == 3)
  }

  @Test func report_whenClosureOfPropertyIsCalledAtOnce_describesItsChains() {
    let text = """
      import PromiseKit
      final class Service {
        lazy var provider: Provider = {
          let renew = { self.login().done { show($0) }.catch { report($0) } }
          return Provider(renew)
        }()
        func login() -> Promise<User> { .value(User()) }
      }
      """
    #expect(Report(SourceTree(contents: [("File.swift", text)])).summary.operators == 2)
  }

  @Test(arguments: [
    (
      "func token() async throws -> Int {",
      "let token = try await renew(); log(token); return token", 0
    ),
    ("func token() async throws -> Int {", "try await renew()", 1),
    (
      "var token: Int { get async throws {",
      "let token = try await renew(); log(token); return token }", 0
    ),
    ("var token: Int { get async throws {", "try await renew() }", 1),
  ])
  func check_whenPropertyBecameFunction_comparesThem(head: String, body: String, losses: Int) {
    let before = """
      import PromiseKit
      @MainActor struct Store {
        var token: Promise<Int> { renew().get { log($0) } }
        func twice() -> Promise<Int> { token.map { $0 * 2 } }
      }
      """
    let after = """
      @MainActor struct Store {
        \(head) \(body) }
        func twice() async throws -> Int { try await token\(head.contains("func") ? "()" : "") * 2 }
      }
      """
    #expect(findings(before, after).map(\.rule) == Array(repeating: .effectLost, count: losses))
  }

  @Test func report_whenClosureIsDeclaredToReturnPromise_decidesItsOperators() {
    let text = """
      import PromiseKit
      import Elsewhere
      func run() {
        let send: () -> Promise<Int> = { elsewhere.send().map { $0 + 1 } }
        let list: () -> [Int] = { elsewhere.rows().map { $0 + 1 } }
        send().done { print($0, list()) }.cauterize()
      }
      """
    let report = Report(SourceTree(contents: [("File.swift", text)]))
    #expect(report.undecided == [])
    #expect(report.summary.operators == 3)
  }

  @Test func report_whenTypesShareNames_ordersCalleesFirst() {
    let text = """
      import PromiseKit
      final class Shim {
        func login() -> Promise<Int> { Remote.shared.login() }
      }
      final class Kit {
        let shim = Shim()
        func login() -> Promise<Int> { shim.login() }
      }
      final class Screen {
        func load(page: Int = 1) -> Promise<Int> { Pages().load().map { $0 } }
      }
      final class Pages {
        func load() -> Promise<Int> { shared.page() }
      }
      """
    let report = Report(SourceTree(contents: [("File.swift", text)]))
    #expect(
      report.order == [
        "File.swift:3: Shim.login()", "File.swift:7: Kit.login()", "File.swift:13: Pages.load()",
        "File.swift:10: Screen.load(page:)",
      ])
  }

  @Test func report_inEachFormat_containsTheChain() {
    let report = Report(SourceTree(contents: [("File.swift", RewriteTests.screen)]))
    #expect(report.text.contains("store.items()"))
    #expect(report.json.contains("\"line\" : 7"))
    #expect(Page(report).html.contains("class=\"badge exact\""))
    #expect(Report(SourceTree(contents: [("File.swift", RewriteTests.screen)])).json == report.json)
    for text in ["href=", "src=", "@import", "http"] { #expect(!Page(report).html.contains(text)) }
    #expect(Sarif(findings(Self.before, Self.after(""))).json.contains("executor-changed"))
  }

  @Test func report_whenResolverIsUsedTwice_notesIt() {
    let text = """
      import PromiseKit
      func load() -> Promise<Int> {
        Promise { seal in
          read { value, error in
            if let error { seal.reject(error) }
            seal.fulfill(value)
          }
        }
      }
      """
    let report = Report(SourceTree(contents: [("File.swift", text)]))
    #expect(report.files.first?.functions.first?.notes.first?.kind == "resolver")
  }

  @Test func tree_whenPathIsMissing_saysWhich() {
    let error = #expect(throws: MigrateError.self) { try SourceTree(path: "/nowhere/at/all") }
    #expect(error?.description.contains("/nowhere/at/all") == true)
  }

  /// Each failure that the function handled before is one it throws now.
  @Test func check_whenFunctionStartsToThrow_reportsItOnce() {
    let found = serious(
      """
      import PromiseKit
      final class Setup {
        func start() {
          do { show(try api.send(try api.key())) } catch { return }
        }
      }
      """,
      """
      final class Setup {
        func start() throws { show(try api.send(try api.key())) }
      }
      """)
    #expect(found.map(\.rule) == [.errorAdded], "\(found.summary)")
    #expect(found.first?.message.contains("`, `") == true, "\(found.summary)")
  }

  @Test func check_whenDifferencesShareTheirPlace_reportsOne() {
    let names = ["echo", "alpha", "delta", "bravo", "foxtrot", "charlie"]
    let cases = names.map { "if \($0) { text = make\($0)() }" }.joined(separator: " else ")
    let before = """
      import PromiseKit
      func run() -> Promise<String> {
        var text = ""
        \(cases)
        return load(text).map { _ in text }
      }
      """
    let after = """
      func run() async throws -> String {
        var text = ""
        \(cases)
        _ = try await load(text)
        return "done"
      }
      """
    let found = findings(before, after).filter { $0.rule == .resultChanged }
    #expect(found.count == 1, "\(found.summary)")
    #expect(Set((0..<3).map { _ in serious(before, after).summary }).count == 1)
  }

  /// A wait that a conversion drops: its promise or task, and the `await` of it.
  @Test(arguments: [
    ("_ p: Guarantee<Void>", "", "await p"),
    ("", "let p = Task { await send() }", "await p.value"),
    ("", "let p = Task { note() }", "await p.value"),
    ("", "", "await pending"),
    ("_ p: Promise<Void>", "", "do { try await p } catch {}"),
  ])
  func check_whenAwaitIsDropped_findsLostWait(
    parameter: String, start: String, wait: String
  ) {
    func code(_ wait: String) -> String {
      """
      import Pledge
      final class Store {
        var pending: Guarantee<Int>
        func run(\(parameter)) async {
          \(start)
          \(wait)
          finish()
        }
      }
      """
    }
    let name = wait.contains("pending") ? "pending" : "p"
    let found = serious(code(wait), code("_ = \(name)"))
    #expect(found.map(\.rule) == [.waitLost], "\(found.summary)")
    #expect(serious(code(wait), code(wait) + "\n").isEmpty)
  }

  @Test(arguments: [("_ item: Item", "item"), ("", "self"), ("", "try await load()")])
  func check_whenOriginalReplacesChangedCopy_findsOtherResult(
    parameter: String, source: String
  ) {
    func code(_ result: String) -> String {
      """
      struct Item {
        func named(\(parameter)) async throws -> Item {
          let original = \(source)
          var copy = original
          copy.name = "new"
          copy.state.count = 2
          return \(result)
        }
      }
      """
    }
    let found = serious(code("copy"), code("original"))
    #expect(found.map(\.rule) == [.resultChanged], "\(found.summary)")
  }

  @Test func check_whenCopyIsChangedInHandler_isSilent() {
    let before = """
      import PromiseKit
      func run() -> Promise<Item> {
        load().map { item in
          var copy = item
          copy.name = "new"
          return copy
        }
      }
      """
    let after = """
      func run() async throws -> Item {
        var item = try await load()
        item.name = "new"
        return item
      }
      """
    let found = serious(before, after).filter { $0.rule != .executorChanged }
    #expect(found.isEmpty, "\(found.summary)")
  }

  /// A function with several differences, which have one cause or many.
  private func report(_ body: String) -> String {
    """
    import Pledge
    @MainActor func report(_ id: Int) async throws {
      \(body)
    }
    """
  }

  @Test func check_whenFunctionIsRewritten_saysOnceThatItIsUndecided() {
    let before = report(
      "let a = try await net.one(id)\n if a.big { net.two(a) } else { net.three(a) }\n"
        + "net.four(a.list.reduce(0) { $0 + $1.size })")
    let after = report(
      "let a = try await store.fetch()\n switch a.kind { case .x: store.put(a); default: store.del(a) }\n"
        + "var sum = 0\n for item in a.list { sum += item.size }\n store.sum(sum)")
    let found = findings(before, after)
    #expect(found.filter { $0.rule == .undecided }.count == 1, "\(found.summary)")
    #expect(found.count < 6, "\(found.summary)")
  }

  @Test func check_whenPathsDivergeOnce_reportsFirstPlaceAndCountsOthers() {
    let before = report("let a = try await net.load(id)\n view.show(a)\n view.stop()")
    let after = report("let a = try? await net.load(id)\n view.show(a)\n view.stop()")
    let found = serious(before, after)
    #expect(found.map(\.rule) == [.errorSwallowed], "\(found.summary)")
    #expect(found.first?.message.contains("differ after it") == true, "\(found.summary)")
  }

  @Test func check_whenFileBelongsToTests_isSilent() {
    func tree(_ folder: String, _ body: String) -> SourceTree {
      SourceTree(contents: [("\(folder)/A.swift", report(body))])
    }
    func count(_ folder: String) -> Int {
      Checker(old: tree(folder, "net.load(id)"), new: tree(folder, "net.save(id)")).run().count
    }
    #expect(count("App") == 1)
    #expect(count("AppTests") == 0)
  }
}
