@testable import PledgeDiagnostics

extension TraceTests {
  /// Which trace records which promises.
  @Suite struct ScopeTests {
    private func made() -> Promise<Int> {
      let (promise, resolver) = Promise<Int>.withResolvers()
      resolver.fulfill(1)
      return promise
    }

    @Test func promisesOfOthers_areLeftOut() async {
      let (started, done) = (Promise<Void>.withResolvers(), Promise<Void>.withResolvers())
      // Created here, outside the trace.
      let others = Task {
        _ = await started.promise.result
        for _ in 0..<100 { _ = made().map(on: .immediate) { $0 } }
        let waited = Promise.value(1).map(on: DispatchQueue(label: "other")) { _ in
          try wait(for: made().map(on: .global) { $0 })
        }
        _ = await waited.result
        done.resolver.fulfill()
      }
      await tracing(capturesPlaces: false) { trace in
        let mine = made()
        let before = trace.count
        started.resolver.fulfill()
        await others.value
        // Only the observers of this test's own waits were added.
        #expect(trace.count <= before + 1)
        #expect(trace.snapshot().records.values.contains { $0.id == mine.id })
        withExtendedLifetime(mine) {}
      }
      _ = await done.promise.result
    }

    @Test(.timeLimit(.minutes(10)))
    func promisesDerivedFromTracedOnes_belongToTheTrace() async throws {
      let queue = DispatchQueue(label: "queue")
      try await tracing(capturesPlaces: false) { trace in
        let inHandler = Recorder<PromiseDiagnostics.PromiseID>()
        let chain = Promise.value(1).then(on: queue) { value in
          let (promise, resolver) = Promise<Int>.withResolvers()
          inHandler.record(promise.id)
          DispatchQueue.global().async { resolver.fulfill(value + 1) }
          return promise.map(on: .global) { $0 }
        }
        #expect(try await chain.value == 2)
        let ids = Set(trace.snapshot().records.values.map(\.id))
        #expect(ids.isSuperset(of: inHandler.events))
        // The observer of this wait ends after it has resumed the test.
        try await waitUntil { trace.snapshot().records.values.allSatisfy { !$0.isPending } }
      }
    }

    @Test func tracesSideBySide_haveEachTheirOwn() async {
      await withTaskGroup(of: Int.self) { group in
        for count in 1...16 {
          group.addTask {
            await tracing(capturesPlaces: false) { trace in
              for _ in 0..<count {
                _ = made()
                await Task.yield()
              }
              return trace.count - count
            }
          }
        }
        for await difference in group { #expect(difference == 0) }
      }
    }

    @Test func innerTrace_isTheCurrentOne() {
      tracing { outer in
        tracing { inner in
          #expect(Trace.current === inner)
          _ = made()
          #expect(inner.count == 1)
        }
        #expect(Trace.current === outer)
      }
    }
  }
}
