import Dispatch
@_spi(DropIns) import Pledge
import PledgeTesting
import Testing

@testable import PledgeDiagnostics

extension TraceTests {
  @Suite struct ErrorPathTests {
    private func events(_ path: ErrorPath?) -> [ErrorPath.Step.Event] {
      path?.steps.map(\.event) ?? []
    }

    @Test func errorOfAHandler_isFollowedFromThrowToCatch() throws {
      try tracing { trace in
        let promise = Promise.value(1)
        let line = #line + 1
        let thrown = promise.map(on: .immediate) { _ -> Int in throw Oops() }
        let passed = thrown.map(on: .immediate) { $0 }
        let seen = passed.tap(on: .immediate) { _ in }
        seen.catch(on: .immediate) { _ in }
        for promise in [thrown, passed, seen] {
          let path = try #require(trace.errorPath(of: promise))
          #expect(path.error is Oops)
          #expect(events(path) == [.thrown, .passed, .seen, .handled])
        }
        let path = try #require(trace.errorPath(of: seen))
        #expect(path.steps.map(\.promise).first == thrown.id)
        #if os(Linux)
          #expect(path.steps.map(\.operation) == ["map", "map", "tap", "catch"])
          #expect(path.steps.first?.location?.line == line)
        #endif
        #expect(path.description.contains(": thrown by its handler on "))
        #expect(path.description.contains(": handled by its handler on "))
      }
    }

    @Test func rejectionByAResolver_tellsWhereAndInWhichHandler() throws {
      try tracing { trace in
        let (promise, resolver) = Promise<Int>.withResolvers()
        let line = #line + 1
        let culprit = Promise.value(1).done(on: .immediate) { _ in resolver.reject(Oops()) }
        let recovered = promise.recover(on: .immediate) { _ in .value(2) }
        let path = try #require(trace.errorPath(of: promise))
        #expect(events(path) == [.rejected, .handled])
        #expect(path.description.contains("in the handler of #2"))
        #if os(Linux)
          #expect(
            path.description.contains(
              "rejected at PledgeDiagnosticsTests/ErrorPathTests.swift:\(line)"))
        #endif
        withExtendedLifetime((culprit, recovered)) {}
      }
    }

    @Test func rejectionInTheMemoryOfAnEarlierOne_isAnotherOne() throws {
      struct Later: Error {}
      try tracing(capturesPlaces: false) { trace in
        for _ in 0..<100 {
          let (inner, resolver) = Promise<Int>.withResolvers()
          // The first rejection is released when its handler has returned.
          let outer = Promise<Int>.rejected(Oops()).recover(on: .immediate) { _ in inner }
          resolver.reject(Later())
          outer.ignoreErrors()
          let path = try #require(trace.errorPath(of: outer))
          #expect(path.error is Later && events(path).first == .rejected)
          #expect(path.steps.first?.promise == inner.id)
        }
      }
    }

    @Test func bornRejected_hasItsPlace() throws {
      try tracing(capturesPlaces: false) { trace in
        let line = #line + 1
        let promise = Promise<Int>.rejected(Oops())
        promise.ignoreErrors()
        let path = try #require(trace.errorPath(of: promise))
        #expect(events(path) == [.rejected, .handled])
        #expect(path.steps.first?.location?.line == line)
      }
    }

    @Test func adoption_isAStep_linkedAndObserved() throws {
      try tracing { trace in
        let inner = Promise<Int>.withResolvers()
        let observed = Promise<Int>.withResolvers()
        let tap = observed.promise.tap(on: .immediate) { _ in }
        let innerID = inner.promise.id
        let outer = Promise.value(1).then(on: .immediate) { _ in inner.promise }
        let second = Promise.value(1).then(on: .immediate) { _ in observed.promise }
        outer.ignoreErrors()
        second.ignoreErrors()
        tap.ignoreErrors()
        inner.resolver.reject(Oops())
        observed.resolver.reject(Oops())
        #expect(events(trace.errorPath(of: outer)) == [.rejected, .adopted, .handled])
        #expect(trace.errorPath(of: innerID)?.steps.count == 3)
        let path = try #require(trace.errorPath(of: second))
        #expect(Set(events(path)) == [.rejected, .seen, .adopted, .handled])
        #expect(path.steps.map(\.depth) == [0, 1, 1, 1, 1])
      }
    }

    @Test func replacedError_endsTheWay_andBeginsAnother() throws {
      struct Other: Error {}
      try tracing { trace in
        let first = Promise<Int>.rejected(Oops())
        let second = first.recover(on: .immediate) { _ -> Promise<Int> in throw Other() }
        second.ignoreErrors()
        let path = try #require(trace.errorPath(of: first))
        #expect(events(path) == [.rejected, .replaced(by: "Other()")])
        #expect(events(trace.errorPath(of: second)) == [.thrown, .handled])
      }
    }

    @Test func combinator_passesTheErrorOfItsInput() {
      tracing { trace in
        let first = Promise<Int>.withResolvers()
        let second = Promise<Int>.withResolvers()
        let all = Promise.all([first.promise, second.promise])
        all.ignoreErrors()
        second.resolver.reject(Oops())
        #expect(events(trace.errorPath(of: all)) == [.rejected, .combined, .handled])
        #expect(trace.errorPath(of: all)?.steps.first?.promise == second.promise.id)
        first.resolver.fulfill(1)
      }
    }

    @Test func awaitAndWait_areEnds() async throws {
      try await tracing { trace in
        let (promise, resolver) = Promise<Int>.withResolvers()
        let task = Task { await promise.result }
        try await waitUntil { trace.pendingTree().nodes.count == 2 }
        resolver.reject(Oops())
        _ = await task.value
        #expect(events(trace.errorPath(of: promise)) == [.rejected, .delivered])
      }
    }

    @Test func lastUnhandledRejection_isFound() async {
      // In a process of its own, because the hook is global.
      await #expect(processExitsWith: .success) {
        PromiseDiagnostics.setUnhandledRejectionHandler { _ in }
        let trace = Trace.start()
        let handled = Promise<Int>.rejected(Oops())
        handled.ignoreErrors()
        #expect(trace.lastUnhandledErrorPath() == nil)
        do {
          let promise = Promise.value(1).map(on: .immediate) { _ -> Int in throw Oops() }
          _ = promise.map(on: .immediate) { $0 }
        }
        let path = trace.lastUnhandledErrorPath()
        #expect(path?.steps.map(\.event) == [.thrown, .passed, .unhandled])
        #expect(path?.description.contains("no consumer of #") == true)
      }
    }

    @Test func promiseThatIsNotRejected_hasNoPath() {
      tracing { trace in
        let (promise, resolver) = Promise<Int>.withResolvers()
        #expect(trace.errorPath(of: promise) == nil)
        resolver.fulfill(1)
        #expect(trace.errorPath(of: promise) == nil)
        #expect(trace.lastUnhandledErrorPath() == nil)
      }
    }
  }
}
