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
        let timeline = trace.snapshot().timeline()
        #expect(
          timeline.rows.map { timeline.strings[$0.operation] }.contains(
            "promise \u{201C}avatar of 7\u{201D}"))
        resolver.fulfill(1)
        mapped.cauterize()
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
        outer.cauterize()
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
