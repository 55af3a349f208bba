import Dispatch
import Foundation
@_spi(DropIns) import Pledge
import PledgeTesting
import Testing

@testable import PledgeDiagnostics

extension TraceTests {
  @Suite struct ErrorPathTests {
    /// Returns what each step says, up to the name of a thread or a location.
    private func events(_ path: ErrorPath?) -> [String] {
      path?.steps.map { step in
        let words = step.description.components(separatedBy: ": ").last ?? ""
        return words.components(separatedBy: " on ")[0].components(separatedBy: " at ")[0]
      } ?? []
    }

    @Test func errorOfAHandler_isFollowedBackToTheThrow() throws {
      try tracing { trace in
        let promise = Promise.value(1)
        let line = #line + 1
        let thrown = promise.map(on: .immediate) { _ -> Int in throw Oops() }
        let passed = thrown.map(on: .immediate) { $0 }
        let seen = passed.tap(on: .immediate) { _ in }
        seen.catch(on: .immediate) { _ in }
        let steps = ["thrown by its handler", "passed on", "seen by its handler"]
        for (index, promise) in [thrown, passed, seen].enumerated() {
          let path = try #require(trace.errorPath(of: promise))
          #expect(path.error is Oops)
          #expect(events(path) == Array(steps[...index]))
        }
        let path = try #require(trace.errorPath(of: seen))
        #expect(path.steps.map(\.promise).first == thrown.id)
        #if os(Linux)
          #expect(path.steps.map(\.operation) == ["map", "map", "tap"])
          #expect(path.steps.first?.location?.line == line)
        #endif
        #expect(path.description.contains(": thrown by its handler on "))
      }
    }

    @Test func rejectionByAResolver_tellsWhereAndInWhichHandler() throws {
      try tracing { trace in
        let (promise, resolver) = Promise<Int>.withResolvers()
        let line = #line + 1
        let culprit = Promise.value(1).done(on: .immediate) { _ in resolver.reject(Oops()) }
        let recovered = promise.recover(on: .immediate) { _ in .value(2) }
        let path = try #require(trace.errorPath(of: promise))
        #expect(events(path) == ["rejected"])
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
          #expect(path.error is Later && events(path).first?.hasPrefix("rejected") == true)
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
        #expect(events(path) == ["rejected"])
        #expect(path.steps.first?.location?.line == line)
      }
    }

    @Test func adoption_isAStep_linkedAndObserved() {
      tracing { trace in
        let inner = Promise<Int>.withResolvers()
        let observed = Promise<Int>.withResolvers()
        let tap = observed.promise.tap(on: .immediate) { _ in }
        let outer = Promise.value(1).then(on: .immediate) { _ in inner.promise }
        let second = Promise.value(1).then(on: .immediate) { _ in observed.promise }
        outer.ignoreErrors()
        second.ignoreErrors()
        tap.ignoreErrors()
        inner.resolver.reject(Oops())
        observed.resolver.reject(Oops())
        let adopted = "rejected like the promise that its handler returned"
        #expect(events(trace.errorPath(of: outer)) == ["rejected", adopted])
        #expect(events(trace.errorPath(of: second)) == ["rejected", adopted])
      }
    }

    @Test func replacedError_beginsAnotherPath() {
      struct Other: Error {}
      tracing { trace in
        let first = Promise<Int>.rejected(Oops())
        let second = first.recover(on: .immediate) { _ -> Promise<Int> in throw Other() }
        second.ignoreErrors()
        #expect(events(trace.errorPath(of: first)) == ["rejected"])
        #expect(events(trace.errorPath(of: second)) == ["thrown by its handler"])
      }
    }

    @Test func combinator_passesTheErrorOfItsInput() {
      tracing { trace in
        let first = Promise<Int>.withResolvers()
        let second = Promise<Int>.withResolvers()
        let all = Promise.all([first.promise, second.promise])
        all.ignoreErrors()
        second.resolver.reject(Oops())
        #expect(events(trace.errorPath(of: all)) == ["rejected", "rejected like its input"])
        #expect(trace.errorPath(of: all)?.steps.first?.promise == second.promise.id)
        first.resolver.fulfill(1)
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
        #expect(path?.steps.count == 2)
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
