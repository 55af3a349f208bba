import MigrateKit
import Testing

/// Conversions of handlers on a queue, and of handlers that return at several places.
@Suite struct QueueConversionTests {
  private func rewrite(_ text: String) throws -> (text: String, left: [String: Int]) {
    let tree = SourceTree(contents: [("File.swift", text)])
    let rewrite = try TreeRewrite(tree)
    #expect(rewrite.findings.isEmpty, "\(rewrite.findings.summary)")
    let after = rewrite.changes.first?.after ?? text
    let again = SourceTree(contents: [("File.swift", after)])
    #expect(try TreeRewrite(again).changes.isEmpty)
    return (after, rewrite.left)
  }

  @Test func rewrite_whenHandlersNameQueue_runsTaskThere() throws {
    let (after, _) = try rewrite(
      """
      import Promises

      final class Camera {
        func start() -> Promise<Bool> {
          open().then(on: queue) { didOpen -> Promise<Bool> in
            guard didOpen else { return Promise(false) }
            self.show()  // The first picture.
            return self.capture()
          }
        }
        func open() -> Promise<Bool> { Promise(true) }
        func capture() -> Promise<Bool> { Promise(true) }
      }
      """)
    #expect(
      after.contains(
        """
            let source = open()
            let promise = Promise<Bool>.pending()
            Task(on: queue, after: source) {
              do {
                let didOpen = try await source.get()
                guard didOpen else { return promise.fulfill(false) }
                self.show()  // The first picture.
                promise.fulfill(try await self.capture().get())
              } catch {
                promise.reject(error)
              }
            }
            return promise
        """), "\(after)")
  }

  @Test func rewrite_whenPromiseKitNamesQueue_awaitsWithoutMainQueue() throws {
    let (after, _) = try rewrite(
      """
      import PromiseKit

      final class Store {
        func refresh() {
          load().done(on: self.queue) { [weak self] rows in
            self?.show(rows)
          }.catch(on: queue) { [weak self] error in
            self?.show(error)
          }
        }
      }
      """)
    #expect(after.contains("Task(on: self.queue, after: source) { [weak self] in"), "\(after)")
    #expect(after.contains("try await source.async(on: nil)"))
  }

  @Test(arguments: [
    "final class A { func run() { load().done(on: first) { _ in }.catch(on: second) { _ in } } }",
    "final class A { var queue: DispatchQueue?\nfunc run() { load().done(on: queue) { _ in } } }",
    "final class A: UIViewController { func run() { load().done(on: queue) { _ in } } }",
    "@MainActor func run() { load().done(on: queue) { _ in } }",
  ])
  func rewrite_whenTaskCannotRunOnQueue_asks(code: String) throws {
    let (_, left) = try rewrite("import PromiseKit\n\n" + code)
    #expect(left == ["executor": 1])
  }

  @Test func rewrite_whenEachWayReturns_fulfillsOnEach() throws {
    let (after, _) = try rewrite(
      """
      import PromiseKit

      final class Store {
        func rows() -> Promise<Int> {
          return load().map { value -> Int in
            if value > 1 {
              return value
            } else {
              return values.map { return $0 }.count
            }
          }
        }
      }
      """)
    #expect(after.contains("return resolver.fulfill(value)\n"), "\(after)")
    #expect(after.contains("return resolver.fulfill(values.map { return $0 }.count)\n"))
    #expect(after.components(separatedBy: "fulfill(").count == 3)
  }

  @Test func rewrite_whenHandlersHaveSameParameter_renamesTheLaterOne() throws {
    let (after, _) = try rewrite(
      """
      import PromiseKit

      func refresh() {
        load().map { value in value.rows }.done { value in
          show(value, value: other.value)
        }.cauterize()
      }
      """)
    #expect(after.contains("let value2 = value.rows\n"), "\(after)")
    #expect(after.contains("show(value2, value: other.value)"))
  }

  @Test func rewrite_whenChainFeedsContinuation_awaitsInTask() throws {
    let (after, _) = try rewrite(
      """
      import Promises

      final class Track {
        func start() async throws -> Bool {
          try await withCheckedThrowingContinuation { continuation in
            begin().then(on: queue) { result in
              continuation.resume(returning: result)
            }.catch(on: queue) { error in
              continuation.resume(throwing: error)
            }
          }
        }
      }
      """)
    #expect(after.contains("let result = try await source.get()"), "\(after)")
    #expect(after.contains("continuation.resume(throwing: error)"))
  }

  @Test(arguments: [("$0.ready.wait()", 1), ("$0.isReady = true", 0)])
  func rewrite_whenGenericFunctionReturnsResultOfClosure_looksIntoIt(
    body: String, decisions: Int
  ) throws {
    let (after, left) = try rewrite(
      """
      import Promises

      func run() -> Promise<Void> {
        return load().then(on: queue) {
          state.mutate { \(body) }
        }
      }
      struct State<Value> {
        func mutate<Result>(_ body: (inout Value) -> Result) -> Result { body(&value) }
      }
      """)
    #expect(left["operator", default: 0] == decisions, "\(after)")
  }

  @Test func rewrite_whenFunctionIsNested_convertsItsResult() throws {
    let (after, _) = try rewrite(
      """
      import PromiseKit

      func attempts() -> Promise<Int> {
        func attempt() -> Promise<Int> {
          return load().recover { error -> Promise<Int> in
            guard isTransient(error) else { throw error }
            return attempt()
          }
        }
        return attempt()
      }
      """)
    #expect(after.contains("result = try await attempt().async()"), "\(after)")
  }
}
