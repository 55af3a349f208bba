@testable import PledgeDiagnostics

extension TraceTests {
  @Suite struct WaitCycleTests {
    private func firstCycle(_ trace: Trace) async throws -> WaitCycle {
      try await waitUntil { !trace.waitCycles().isEmpty }
      return try #require(trace.waitCycles().first)
    }

    @Test(.timeLimit(.minutes(10))) func handlersThatBlockOnEachOther_areACircle() async throws {
      try await tracing { trace in
        let (first, second) = (Promise<Int>.withResolvers(), Promise<Int>.withResolvers())
        let firstHandler = first.promise.map(on: DispatchQueue(label: "a")) { _ in
          try wait(for: second.promise)
        }
        let secondHandler = first.promise.map(on: DispatchQueue(label: "b")) { _ in
          try wait(for: firstHandler)
        }
        second.resolver.resolve(with: secondHandler)
        #expect(trace.waitCycles().isEmpty)
        first.resolver.fulfill(1)

        let cycle = try await firstCycle(trace)
        let promises = Set(cycle.steps.map(\.promise))
        #expect(promises.isSuperset(of: [firstHandler.id, second.promise.id, secondHandler.id]))
        #expect(cycle.steps.count == 5, "with the two threads that block")
        #expect(cycle.isCertain)
        #expect(cycle.description.contains("blocks thread "))
        let tree = trace.pendingTree()
        #expect(tree.description.contains("Wait cycle:"))
        #expect(tree.description.contains(", blocked by the wait()"))
        #expect(tree.roots.count == 1, "\(tree)")

        second.promise.cancel()
        _ = await (firstHandler.result, secondHandler.result)
        #expect(trace.waitCycles().isEmpty)
      }
    }

    @Test func promisesThatTakeEachOthersPlace_areACircle() throws {
      try tracing { trace in
        let (promise, resolver) = Promise<Int>.withResolvers()
        let outer = Promise.value(1).map(on: .immediate) { $0 }.then(on: .immediate) { _ in
          promise.map(on: .immediate) { $0 }
        }.named("outer")
        let end = outer.map(on: .immediate) { $0 }
        #expect(trace.waitCycles().isEmpty)
        resolver.resolve(with: outer)
        let cycle = try #require(trace.waitCycles().first)
        #expect(cycle.steps.map(\.promise).contains(outer.id))
        #expect(cycle.isCertain)
        #expect(cycle.description.contains("which its handler returned"))
        #expect(cycle.description.contains("with whose result it settles"))
        #expect(cycle.description.contains("\u{201C}outer\u{201D}"))
        let tree = trace.pendingTree()
        #expect(tree.cycles.count == 1)
        #expect(tree.roots.count == 1)
        let first = try #require(tree.roots.first).description
        #expect(first.contains(/: waits for #\d+, in a cycle|: its handler returned #/))
        #expect(!tree.description.contains("has not settled it"))
        #expect(tree.node(outer.id) != nil, "what has no root is shown nevertheless")
        #expect(tree.description.contains(": see above"))
        #expect((tree.node(end.id)?.depth ?? 0) > 0, "it waits for the cycle")
        end.ignoreErrors()
        promise.cancel()
      }
    }

    @Test(.timeLimit(.minutes(10)))
    func queueThatAWaitKeepsBusy_isACircleIfItIsSerial() async throws {
      try await tracing { trace in
        let queue = DispatchQueue(label: "busy")
        let (start, resolver) = Promise<Int>.withResolvers()
        let late = start.then(on: .global) { _ in Promise.value(1).map(on: queue) { $0 } }
        let blocked = Promise.value(1).map(on: queue) { _ in try wait(for: late) }
        try await waitUntil { trace.pendingTree().description.contains("blocks thread ") }
        #expect(trace.waitCycles().isEmpty, "it waits for a resolver")
        resolver.fulfill(1)

        let cycle = try await firstCycle(trace)
        #expect(!cycle.isCertain)
        #expect(cycle.description.hasPrefix("Wait cycle, if the queue is serial:"))
        #expect(cycle.description.contains("cannot run on \u{201C}busy\u{201D}"))
        late.cancel()
        _ = await blocked.result
      }
    }

    // In a process of its own, because it blocks the main queue, which any thread can serve on Linux.
    @Test func waitOnTheMainQueue_isACircle_onAnyThread() async {
      await #expect(processExitsWith: .success) {
        let trace = Trace.start()
        let (promise, resolver) = Promise<Int>.withResolvers()
        let (end, endResolver) = Promise<Int>.withResolvers()
        DispatchQueue.main.async { endResolver.resolve(Result { try wait(for: promise) }) }
        try await waitUntil { trace.pendingTree().description.contains("blocks the main thread") }
        #expect(trace.waitCycles().isEmpty)
        resolver.resolve(with: Promise.value(1).map { @MainActor in $0 })
        try await waitUntil { !trace.waitCycles().isEmpty }
        let cycle = try #require(trace.waitCycles().first)
        #expect(cycle.isCertain)
        #expect(cycle.description.contains("cannot run on \u{201C}main\u{201D}"))
        promise.cancel()
        _ = await end.result
      }
    }

    @Test func whatWaitsForAResolver_isNoCycle() {
      tracing(capturesPlaces: false) { trace in
        let (promise, resolver) = Promise<Int>.withResolvers()
        let branches = (0..<3).map { number in promise.map(on: .immediate) { $0 + number } }
        let all = Promise.all(branches)
        #expect(trace.waitCycles().isEmpty)
        resolver.fulfill(1)
        withExtendedLifetime(all) {}
      }
    }
  }
}
