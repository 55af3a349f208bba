@testable import PledgeDiagnostics

extension TraceTests {
  @Suite struct PendingTreeTests {
    @Test func resolverThatIsNotCalled_isARoot_withPlaceAndAge() throws {
      try tracing { trace in
        let line: UInt = #line + 1
        let (promise, resolver) = Promise<Int>.withResolvers()
        let node = try #require(trace.pendingTree().roots.first)
        #expect(node.promise == promise.id)
        let later = try #require(trace.pendingTree().roots.first)
        #expect(node.description != later.description)
        #expect(node.location?.line == Int(line))
        #expect(
          node.location?.description == "PledgeDiagnosticsTests/PendingTreeTests.swift:\(line)")
        #expect(node.description.contains(": its resolver or operation has not settled it, for "))
        resolver.fulfill(1)
        #expect(trace.pendingTree().nodes.isEmpty)
        withExtendedLifetime(promise) {}
      }
    }

    @Test func whatWaits_standsBelow_withItsOperatorAndPlace() throws {
      let executor = ManualExecutor()
      try tracing { trace in
        let (promise, resolver) = Promise<Int>.withResolvers()
        let mapped = promise.map(on: executor) { $0 + 1 }
        let line = #line + 1
        let caught = mapped.done(on: executor) { _ in }.catch(on: executor) { _ in }
        let tree = trace.pendingTree()
        let node = try #require(tree.node(caught.id))
        #expect(node.depth == 3)
        #expect(
          tree.node(mapped.id)?.description.contains(", on ManualExecutor: waits, for ") == true)
        #if os(Linux)
          #expect(tree.outline == ["promise", " map", "  done", "   catch"])
          #expect(node.location?.line == line)
          #expect(
            node.location?.description == "PledgeDiagnosticsTests/PendingTreeTests.swift:\(line)")
        #endif
        resolver.fulfill(1)
        executor.runAll()
        #expect(trace.pendingTree().nodes.isEmpty)
      }
    }

    @Test func placesCanBeSwitchedOff() {
      tracing(capturesPlaces: false) { trace in
        let (promise, resolver) = Promise<Int>.withResolvers()
        let mapped = promise.map { $0 }
        #expect(trace.pendingTree().node(mapped.id)?.location == nil)
        #expect(trace.pendingTree().node(promise.id)?.location != nil)
        resolver.fulfill(1)
      }
    }

    @Test func handlerThatItsExecutorHasNotStarted_isQueued() throws {
      let executor = ManualExecutor()
      try tracing { trace in
        let (promise, resolver) = Promise<Int>.withResolvers()
        let mapped = promise.map(on: executor) { $0 }
        resolver.fulfill(1)
        let words = "its handler was not started, on ManualExecutor for "
        #expect(trace.pendingTree().says(words, of: mapped.id))
        let born = Promise.value(1).map(on: executor) { $0 }
        #expect(trace.pendingTree().says(words, of: born.id))
        // Ready when the promise on which it was called settled, or when it was created.
        let snapshot = trace.snapshot()
        let records = try [promise.id, mapped.id, born.id].map { id in
          try #require(snapshot.ordered.first { $0.id == id })
        }
        #expect(snapshot.readyTime(of: records[1]) == records[0].settlement?.moment.time)
        #expect(snapshot.readyTime(of: records[2]) == records[2].made.time)
        executor.runAll()
      }
    }

    @Test func handlerThatRuns_isARoot_withItsThread() async throws {
      try await tracing { trace in
        let (started, gate) = (Promise<Void>.withResolvers(), DispatchSemaphore(value: 0))
        let running = Promise.value(1).map(on: DispatchQueue(label: "io")) { _ in
          started.resolver.fulfill()
          gate.wait()
        }
        let waiting = running.map { _ in }
        try await started.promise.value
        let tree = trace.pendingTree()
        let node = try #require(tree.node(running.id))
        #expect(node.description.contains(/: its handler runs on thread \d+, on io for [\d.]+/))
        #expect(tree.node(waiting.id)?.depth == node.depth + 1)
        gate.signal()
        try await waiting.value
      }
    }

    @Test func adoption_isShown() {
      tracing { trace in
        let (inner, observed) = (Promise<Int>.withResolvers(), Promise<Int>.withResolvers())
        let other = observed.promise.map(on: .immediate) { $0 }
        let outer = Promise.value(1).then(on: .immediate) { _ in inner.promise }
        let second = Promise.value(1).then(on: .immediate) { _ in observed.promise }
        let tree = trace.pendingTree()
        #expect(tree.says("its handler returned #", of: outer.id))
        #expect(tree.says("its handler returned #", of: second.id))
        #expect(tree.node(second.id)?.depth == 1)
        #expect(tree.roots.count == 2)
        #expect(tree.node(outer.id)?.depth == 1)
        inner.resolver.fulfill(1)
        observed.resolver.fulfill(1)
        #expect(trace.pendingTree().nodes.isEmpty)
        withExtendedLifetime(other) {}
      }
    }

    @Test func loopThroughThen_keepsOneRow() {
      tracing { trace in
        let executor = ManualExecutor()
        @Sendable func step(_ count: Int) -> Promise<Int> {
          Promise.value(count).then(on: executor) { step($0 + 1) }
        }
        let loop = step(0)
        for _ in 0..<100 { executor.runNext() }
        let tree = trace.pendingTree()
        #expect(tree.nodes.count <= 3)
        #expect(tree.says("its handler returned #", of: loop.id))
        #expect(tree.roots.count == 1)
        #expect(tree.roots.first?.description.contains(": its handler was not started") == true)
        executor.dropAll()
        loop.ignoreErrors()
      }
    }

    @Test func combinator_waitsForItsPendingInputs() {
      tracing { trace in
        let (first, second) = (Promise<Int>.withResolvers(), Promise<Int>.withResolvers())
        let all = Promise.all([first.promise, second.promise])
        var tree = trace.pendingTree()
        let repeats = tree.nodes.filter { $0.promise == all.id }
          .map { $0.description.hasSuffix(": see above") }
        #expect(repeats == [false, true])
        #if os(Linux)
          #expect(tree.outline == ["promise", " all", "promise", " all"])
        #endif
        first.resolver.fulfill(1)
        tree = trace.pendingTree()
        #expect(tree.nodes.map(\.promise) == [second.promise.id, all.id])
        second.resolver.fulfill(1)
        #expect(trace.pendingTree().nodes.isEmpty)
      }
    }

    @Test func raceThatIsOver_leavesNoWaiter() {
      tracing { trace in
        let (first, second) = (Promise<Int>.withResolvers(), Promise<Int>.withResolvers())
        let race = Promise.race(first.promise, second.promise, cancellingLosers: false)
        first.resolver.fulfill(1)
        #expect(trace.pendingTree().nodes.map(\.promise) == [second.promise.id])
        second.resolver.fulfill(1)
        withExtendedLifetime(race) {}
      }
    }

    @Test(arguments: [nil, "load profile"])
    func taskThatAwaits_standsBelow_withItsName(_ name: String?) async throws {
      try await tracing { trace in
        let (promise, resolver) = Promise<Int>.withResolvers()
        let task = Task(name: name) { try await promise.value }
        let shown = name.map { " \u{201C}\($0)\u{201D}" } ?? ""
        // The task records its wait before its name.
        try await waitUntil {
          trace.pendingTree().nodes.last?.description.contains("await\(shown): ") == true
        }
        let node = try #require(trace.pendingTree().nodes.last)
        #expect(node.description.contains("await\(shown): a task waits, for ") && node.depth == 1)
        resolver.fulfill(1)
        #expect(try await task.value == 1)
        #expect(trace.pendingTree().nodes.isEmpty)
      }
    }

    @Test func promisesOfTheLibrary_haveNoPlaceInIt() {
      tracing { trace in
        let never = Promise<Int>.never
        let all = Promise.all(1...2, concurrently: 1) { _ in never }
        let tree = trace.pendingTree()
        #expect(tree.node(never.id)?.description.contains("not in the record") == false)
        let files = tree.nodes.compactMap(\.location?.file)
        #expect(!files.contains { file in file.hasPrefix("Pledge/") })
        all.cancel()
        never.cancel()
      }
    }

    @Test func longChain_isPrintedWithoutDeepStacks() {
      tracing(capturesPlaces: false) { trace in
        let (promise, resolver) = Promise<Int>.withResolvers()
        var chain = promise
        for _ in 0..<20_000 { chain = chain.map(on: .immediate) { $0 } }
        let tree = trace.pendingTree()
        #expect(tree.nodes.count == 20_001)
        #expect(tree.node(chain.id)?.depth == 20_000)
        #expect(tree.description.utf8.count < 4_000_000)
        resolver.fulfill(1)
        #expect(trace.pendingTree().nodes.isEmpty)
      }
    }
  }
}
