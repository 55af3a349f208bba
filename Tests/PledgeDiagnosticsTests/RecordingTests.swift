@testable import PledgeDiagnostics

extension TraceTests {
  @Suite struct RecordingTests {
    @Test func afterItsBody_nothingIsRecorded() {
      let trace = tracing { $0 }
      #expect(!trace.isRunning && Trace.current !== trace)
      let (promise, resolver) = Promise<Int>.withResolvers()
      _ = promise.map(on: .immediate) { $0 }
      resolver.fulfill(1)
      #expect(trace.count == 0)
      #expect(trace.pendingTree().nodes.isEmpty)
    }

    @Test func manyThreads_loseNothing() async {
      let threads = 8
      let each = 500
      let kept = Recorder<Promise<Int>>()
      let trace = await tracing(capturesPlaces: false) { trace in
        await withTaskGroup(of: Void.self) { group in
          for _ in 0..<threads {
            group.addTask {
              for _ in 0..<each {
                let (promise, resolver) = Promise<Int>.withResolvers()
                kept.record(promise.map(on: .immediate) { $0 })
                resolver.fulfill(1)
              }
            }
          }
        }
        return trace
      }
      let records = trace.snapshot().records.values
      #expect(records.count == 2 * threads * each)
      #expect(records.allSatisfy { $0.settlement != nil })
      let handlers = records.filter { $0.kind == .handler }
      #expect(handlers.count == threads * each)
      #expect(handlers.allSatisfy { $0.run?.isRunning == false })
      withExtendedLifetime(kept) {}
    }

    @Test func limit_boundsTheRecord_andForgetsSettledPromisesFirst() {
      tracing(limit: 10, capturesPlaces: false) { trace in
        let (pending, resolver) = Promise<Int>.withResolvers()
        let waiting = pending.map(on: .immediate) { $0 }
        for number in 0..<1000 {
          let other = Promise<Int>.withResolvers()
          let mapped = other.promise.map(on: .immediate) { $0 }
          other.resolver.fulfill(number)
          withExtendedLifetime(mapped) {}
          #expect(trace.count <= 10)
        }
        #expect(trace.forgotten == 1992)
        let tree = trace.pendingTree()
        #expect(tree.nodes.map(\.promise) == [pending.id, waiting.id])
        #expect(tree.description.contains("1992 settled and 0 pending promises were discarded"))
        resolver.fulfill(1)
      }
    }

    @Test(arguments: [(0, 1), (-1, 1), (.min, 1), (10, 10)])
    func limit_holdsAlsoForPendingPromises_andIsAtLeastOne(_ limit: Int, _ count: Int) {
      tracing(limit: limit, capturesPlaces: false) { trace in
        let pairs = (0..<100).map { _ in Promise<Int>.withResolvers() }
        #expect(trace.count == count)
        #expect(trace.forgotten == 100 - count)
        for pair in pairs { pair.resolver.fulfill(1) }
        #expect(trace.count == count)
      }
    }

    @Test func absurdLines_arePrinted() {
      tracing { trace in
        let (promise, resolver) = Promise<Int>.withResolvers(line: .max)
        #expect(trace.pendingTree().roots.first?.location?.line == .max)
        resolver.fulfill(1)
        withExtendedLifetime(promise) {}
      }
    }

    @Test(arguments: [
      (0, "0 µs"), (12_340, "12.34 µs"), (999_999, "1000 µs"), (300_000_000, "300 ms"),
      (1_250_000_000, "1.25 s"), (Int64.max, "9223372037 s"),
    ])
    func times_areBrief(_ nanoseconds: Int64, _ text: String) {
      #expect(nanoseconds.brief == text)
    }

    @Test func reusedIDs_doNotMixPromisesUp() {
      tracing(capturesPlaces: false) { trace in
        var ids: Set<PromiseDiagnostics.PromiseID> = []
        var count = 0
        for number in 0..<1000 {
          let (promise, resolver) = Promise<Int>.withResolvers()
          ids.insert(promise.id)
          count += 1
          if number.isMultiple(of: 2) { resolver.fulfill(1) } else { resolver.reject(Oops()) }
          promise.ignoreErrors()
        }
        // If no memory were reused, the test would prove nothing.
        #expect(ids.count < count)
        let made = trace.snapshot().records.values.filter { $0.kind == .resolver }
          .sorted { $0.number < $1.number }
        #expect(made.count == count)
        for (index, record) in made.enumerated() {
          #expect((record.settlement?.rejection == nil) == index.isMultiple(of: 2))
        }
      }
    }

    #if os(Linux)
      @Test func settler_isRecordedWithItsPlace() throws {
        try tracing { trace in
          let (promise, resolver) = Promise<Int>.withResolvers()
          let line = #line + 1
          resolver.fulfill(1)
          let snapshot = trace.snapshot()
          let record = try #require(snapshot.records.values.first { $0.id == promise.id })
          let callStack = try #require(record.settlement?.callStack)
          #expect(snapshot.location(of: callStack)?.line == line)
        }
      }
    #endif
  }
}
