@testable import PledgeDiagnostics

private actor Counter {
  private var count = 0

  func increment() -> Int {
    count += 1
    return count
  }
}

extension TraceTests {
  /// Places are recorded on threads whose frame pointers are invalid.
  @Suite struct AsynchronousFrameTests {
    // In a process of its own, which a recorder that follows frame pointers would crash.
    @Test func tasksAndActors_areRecordedWithTheirPlaces() async {
      await #expect(processExitsWith: .success) {
        let trace = Trace.start(limit: 1_000)
        let counter = Counter()
        await withTaskGroup(of: Void.self) { group in
          for lane in 0..<4 {
            group.addTask {
              for round in 0..<250 {
                let (promise, resolver) = Promise<Int>.withResolvers()
                let chain = promise.then { value in Promise { await counter.increment() + value } }
                  .replaceError { _ in 0 }
                let task = Task { await chain.value }
                if round % 3 == 0 { task.cancel() }
                if round % 5 == 0 {
                  resolver.reject(Oops())
                } else {
                  DispatchQueue.global().async { resolver.fulfill(lane) }
                }
                _ = await task.value
              }
            }
          }
        }
        #expect(trace.count == 1_000)
        trace.stop()
      }
    }

    #if os(Linux)
      @Test func promiseOfAnAsynchronousFunction_hasItsPlace() async throws {
        try await tracing { trace in
          let promise = Promise<Int>.never
          let line = #line + 1
          func mapped() async -> Promise<Int> { promise.map(on: .immediate) { $0 } }
          let result = await mapped()
          let node = try #require(trace.pendingTree().node(result.id))
          #expect(node.location?.line == line && node.operation == "map")
        }
      }
    #endif
  }
}
