@testable import PledgeDiagnostics

extension TraceTests {
  /// `named`.
  @Suite struct NameTests {
    @Test func name_standsInTreesRowsAndSteps() throws {
      try tracing { trace in
        let (promise, resolver) = Promise<Int>.withResolvers()
        promise.named("avatar of \(7)")
        let mapped = promise.map(on: .immediate) { _ -> Int in throw Oops() }.named("image")
        let tree = trace.pendingTree()
        #expect(tree.description.contains("#1 promise \u{201C}avatar of 7\u{201D} at "))
        #expect(tree.description.contains(" \u{201C}image\u{201D}"))
        let page = String(decoding: try trace.timelinePage(), as: UTF8.self)
        #expect(page.contains("promise \u{201C}avatar of 7\u{201D}"))
        resolver.fulfill(1)
        mapped.ignoreErrors()
        let path = try #require(trace.errorPath(of: mapped))
        #expect(path.description.contains("\u{201C}image\u{201D}"))
      }
    }

    @Test func guarantees_haveNames() {
      tracing { trace in
        let (guarantee, resolver) = Guarantee<Int>.withResolvers()
        guarantee.named("later")
        #expect(trace.pendingTree().description.contains("\u{201C}later\u{201D}"))
        resolver.fulfill(1)
      }
    }

    // In a process of its own, in which no trace is running.
    @Test func withoutATrace_theNameIsNotEvaluated() async {
      await #expect(processExitsWith: .success) {
        let calls = CallCounter()
        Promise.value(1).named("\(calls.call())")
        #expect(calls.count == 0)
      }
    }
  }
}

#if canImport(Glibc)
  extension TraceTests {
    /// The names of operators.
    @Suite struct OperatorNameTests {
      // In a process of its own, because the lookups take seconds, and block other tests.
      @Test func operation_isTheOperatorThatTheLineCalls() async {
        await #expect(processExitsWith: .success) {
          tracing { trace in
            let calls = OperatorCalls(of: .never, .never)
            let nodes = trace.pendingTree().nodes
            for (name, id) in calls.all {
              #expect(nodes.first { $0.promise == id }?.operation == name)
            }
          }
        }
      }

      @Test func everyPublicOperator_isInTheTable() throws {
        let baseline = URL(filePath: #filePath).deletingLastPathComponent()
          .deletingLastPathComponent().appending(path: "API/Pledge.txt")
        let declaration =
          /^(Thenable|Promise|Guarantee)\b[^|]*\| .*func `?(\w+)`?.*-> (Promise|Guarantee)</
        let names = try String(contentsOf: baseline, encoding: .utf8).split(separator: "\n")
          .compactMap { try declaration.prefixMatch(in: $0).map { String($0.output.2) } }
        // A promise that is in the record as `promise`, or a promise of the caller's code.
        let others: Set = [
          "attempt", "cancelAndFinish", "rejected", "using", "value", "wait", "withResolvers",
          "wrap", "bound",
        ]
        let (promise, resolver) = Promise<Int>.withResolvers()
        let (guarantee, guaranteeResolver) = Guarantee<Int>.withResolvers()
        let calls = OperatorCalls(of: promise, guarantee)
        #expect(names.count > 50)
        #expect(Set(names).subtracting(others) == Set(calls.all.map(\.name)))
        resolver.fulfill(1)
        guaranteeResolver.fulfill(1)
      }
    }
  }

  /// Calls of operators, each in a line of its own, with the promises that they returned.
  private struct OperatorCalls {
    private(set) var all: [(name: String, id: PromiseDiagnostics.PromiseID)] = []
    /// An ID could be reused if its promise were released.
    private var kept: [Any] = []

    init(of promise: Promise<Int>, _ guarantee: Guarantee<Int>) {
      addOperators(of: promise)
      addOperators(of: guarantee)
      addCombinators(of: promise)
    }

    private mutating func add<Value>(_ name: String, _ promise: Promise<Value>) {
      kept.append(promise)
      promise.ignoreErrors()
      all.append((name, promise.id))
    }

    private mutating func add<Value>(_ name: String, _ guarantee: Guarantee<Value>) {
      kept.append(guarantee)
      all.append((name, guarantee.id))
    }

    private mutating func addOperators(of p: Promise<Int>) {
      let queue = DispatchQueue(label: "queue")
      add("map", p.map { $0 + 1 })
      add("map", p.map(on: queue) { $0 + 1 })
      add("map", p.map(\.bitWidth))
      add("mapResult", p.mapResult { _ in 1 })
      add("mapError", p.mapError { $0 })
      add("compactMap", p.compactMap { $0 > 0 ? $0 : nil })
      add("asVoid", p.asVoid())
      add("asyncMap", p.asyncMap { $0 })
      add("then", p.then { Promise.value($0) })
      add("then", p.then(on: queue) { Promise.value($0) })
      add("done", p.done { _ in })
      add("get", p.get { _ in })
      add("tap", p.tap { _ in })
      add("validate", p.validate { $0 > 0 })
      add("catch", p.catch { _ in })
      add("catch", p.catch(only: Oops.self) { _ in })
      add("recover", p.recover { _ in .value(1) })
      add("recover", p.recover(only: Oops.self) { _ in .value(1) })
      add("asyncRecover", p.asyncRecover { _ async throws -> Int in 1 })
      add("replaceError", p.replaceError { _ in 1 })
      add("finally", p.finally {})
      add("finally", p.finally(on: queue) {})
      add("finallyThen", p.finallyThen { Promise.value(1) })
      add("asyncFinally", p.asyncFinally { () async in })
      add("uncancellable", p.uncancellable())
      add("reduce", p.reduce([1, 2]) { sum, next in Promise.value(sum + next) })
      add("delay", p.delay(.seconds(100)))
      add("timeout", p.timeout(after: .seconds(100)))
      add("deadline", p.deadline(.now + .seconds(100)))
    }

    private mutating func addOperators(of g: Guarantee<Int>) {
      let queue = DispatchQueue(label: "queue")
      add("map", g.map { $0 + 1 })
      add("map", g.map(on: queue) { $0 + 1 })
      add("then", g.then { Guarantee.value($0) })
      add("done", g.done { _ in })
      add("asVoid", g.asVoid())
    }

    private mutating func addCombinators(of p: Promise<Int>) {
      let policy = RetryPolicy.exponential(attempts: 3, from: .seconds(1))
      add("all", Promise.all([p, p]))
      add("all", Promise.all(p, p))
      add("all", Promise.all(p, p, p))
      add("all", Promise<[Int]>.all([1, 2], concurrently: 1) { _ in p })
      add("allSettled", Promise.allSettled([p, p]))
      add("any", Promise.any([p, p]))
      add("race", Promise.race([p, p]))
      add("after", Promise<Void>.after(.seconds(100)))
      add("retry", Promise.retry(policy) { p })
      add("hedged", Promise<Int>.hedged(attempts: 2, delay: .seconds(1)) { p })
    }
  }
#endif
