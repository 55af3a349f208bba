import Pledge
import PledgeTesting
import Testing

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
        #expect(tree.node(promise.id)?.name == "avatar of 7")
        #expect(tree.description.contains("#1 promise \u{201C}avatar of 7\u{201D} at "))
        #expect(tree.description.contains(" \u{201C}image\u{201D}"))
        let page = String(decoding: try trace.data(as: .html), as: UTF8.self)
        #expect(page.contains("promise \u{201C}avatar of 7\u{201D}"))
        resolver.fulfill(1)
        mapped.ignoreErrors()
        let path = try #require(trace.errorPath(of: mapped))
        #expect(path.steps.first?.name == "image")
        #expect(path.description.contains("\u{201C}image\u{201D}"))
      }
    }

    @Test func name_standsInWaitCycles() {
      tracing { trace in
        let (promise, resolver) = Promise<Int>.withResolvers()
        let outer = Promise.value(1).then(on: .immediate) { _ in promise.map(on: .immediate) { $0 }
        }
        outer.named("outer")
        resolver.resolve(with: outer)
        #expect(trace.waitCycles().first?.description.contains("\u{201C}outer\u{201D}") == true)
        outer.ignoreErrors()
        promise.cancel()
      }
    }

    @Test func guarantees_haveNames() {
      tracing { trace in
        let (guarantee, resolver) = Guarantee<Int>.withResolvers()
        guarantee.named("later")
        #expect(trace.pendingTree().node(guarantee.id)?.name == "later")
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
    /// The names of operators, which must be the same in debug and release builds.
    @Suite struct OperatorNameTests {
      // In a process of its own, because the lookups take seconds, and block other tests.
      @Test func operation_isTheOperatorThatTheLineCalls() async {
        await #expect(processExitsWith: .success) { OperatorNameTests.checkOperators() }
      }

      fileprivate static func checkOperators() {
        let (p, resolver) = Promise<Int>.withResolvers()
        let g = Guarantee<Int> { _ in }
        let operators: [(String, () -> PromiseDiagnostics.PromiseID)] = [
          ("map", { p.map { $0 }.id }), ("then", { p.then { .value($0) }.id }),
          ("done", { p.done { _ in }.id }), ("get", { p.get { _ in }.id }),
          ("tap", { p.tap { _ in }.id }), ("catch", { p.catch { _ in }.id }),
          ("recover", { p.recover { _ in p }.id }), ("finally", { p.finally {}.id }),
          ("replaceError", { p.replaceError { _ in 1 }.id }),
          ("validate", { p.validate { $0 > 0 }.id }), ("compactMap", { p.compactMap { $0 }.id }),
          ("asVoid", { p.asVoid().id }), ("asyncMap", { p.asyncMap { $0 }.id }),
          ("all", { Promise.all([p, p]).id }), ("all", { Promise.all(p, g.promise).id }),
          ("race", { Promise.race([p, p]).id }), ("any", { Promise.any([p, p]).id }),
          ("allSettled", { Promise.allSettled([p, p]).id }),
          ("timeout", { p.timeout(after: .seconds(100)).id }),
          ("delay", { p.delay(.seconds(100)).id }),
          ("after", { Promise<Void>.after(.seconds(100)).id }),
          ("map", { g.map { $0 }.id }), ("then", { g.then { .value($0) }.id }),
          ("done", { g.done { _ in }.id }), ("get", { g.get { _ in }.id }),
        ]
        tracing { trace in
          for (name, make) in operators {
            let id = make()
            // An ID can be reused.
            let records = trace.snapshot().log.records.values.filter { $0.id == id }
            let stack = records.max { $0.number < $1.number }?.callStack
            let found = stack.flatMap { LocationFinder.shared.location(of: $0) }?.operation
            #expect(found == name)
          }
        }
        withExtendedLifetime(resolver) {}
      }
    }
  }
#endif
