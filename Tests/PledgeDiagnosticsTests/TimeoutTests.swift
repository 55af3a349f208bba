@testable import PledgeDiagnostics

extension TraceTests {
  /// Timeouts of the helpers in `PledgeTesting`.
  @Suite struct TimeoutTests {
    private func failure(of promise: Promise<Int>) async throws -> ExpectationError {
      try #require(
        await #expect(throws: ExpectationError.self) {
          try await expectFulfillment(of: promise, within: .milliseconds(1))
        })
    }

    @Test func whileATraceIsOn_theFailureTellsWhatIsPending() async throws {
      try await tracing { trace in
        let line: UInt = #line + 1
        let (promise, resolver) = Promise<Int>.withResolvers()
        let failure = try await failure(of: promise.map(on: .immediate) { $0 })
        let tree = try #require(failure.pendingTree)
        #expect(tree.contains("promise at PledgeDiagnosticsTests/TimeoutTests.swift:\(line)"))
        #expect(tree.contains("its resolver or operation has not settled it"))
        #expect(failure.description.hasSuffix("\n\(tree)"))
        resolver.fulfill(1)
      }
    }

    @Test func withoutATrace_itDoesNot() async throws {
      let failure = try await failure(of: .never)
      #expect(failure.pendingTree == nil)
    }
  }
}
