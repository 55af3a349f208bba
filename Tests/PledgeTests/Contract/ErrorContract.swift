/// Contract, lines 8 and 9.
@Suite struct ErrorContract {
  init() { DiagnosticsLog.install() }

  @Test func line8_droppedResolver_rejectsWithBrokenPromise_namingFileAndLine() async throws {
    func make() -> (Promise<Int>, UInt) {
      let (promise, _) = Promise<Int>.withResolvers(); let line: UInt = #line
      return (promise, line)
    }
    let (promise, line) = make()
    let error = try await expectRejection(of: promise, with: BrokenPromiseError.self)
    #expect(error.reason == .resolverDropped)
    #expect(error.origin?.line == line)
    #expect(error.origin?.fileID == #fileID)
    #expect(error.description.contains("ErrorContract.swift:\(line)"))
  }

  @Test func line8_droppedByAClosureInit_rejectsToo() async throws {
    try await expectRejection(of: Promise<Int> { _ in }, with: BrokenPromiseError.self)
    let wrapped = Promise<Int>.wrap { (_: @escaping @Sendable (Int?, (any Error)?) -> Void) in }
    try await expectRejection(of: wrapped, with: BrokenPromiseError.self)
  }

  @Test func line8_executorThatDropsItsJob_rejectsWithBrokenPromise() async throws {
    let executor = ManualExecutor()
    let promise = Promise.value(1).map(on: executor) { $0 }
    #expect(executor.dropAll() == 1)
    let error = try await expectRejection(of: promise, with: BrokenPromiseError.self)
    #expect(error.reason == .executorDroppedJob)
  }

  @Test(arguments: [9360, 9361, 9362])
  func line9_originInAReport_isNeverAFileOfTheLibrary(code: Int) async throws {
    let fail: @Sendable () async throws -> Int = { throw Boom(code: code) }
    switch code {
    case 9360: _ = Promise.value(1).asyncMap { _ in try await fail() }
    case 9361: _ = Promise.retry(.fixed(attempts: 1)) { try await fail() }
    default: _ = Promise<Int>.rejected(Boom(code: code), fileID: "PledgeNIO/Futures.swift")
    }
    try await waitUntil { !DiagnosticsLog.reports(of: Boom(code: code)).isEmpty }
    #expect(DiagnosticsLog.reports(of: Boom(code: code)) == [nil])
  }

  @Test(.apart) func line9_manyReports_takeNoStack() async {
    await outsideTasks(stackSize: 256 * 1024) {
      for _ in 0..<20_000 { _ = Promise<Void>.rejected(Boom()) }
    }
  }

  @Test func line9_report_namesThePlaceOnce() throws {
    let line: UInt = #line + 1
    do { _ = Promise<Int>.rejected(Boom(code: 9098)) }
    #expect(
      DiagnosticsLog.texts(of: Boom(code: 9098)) == [
        """
        unhandled rejection: \(Boom(code: 9098)) (promise made at PledgeTests/ErrorContract.swift:\
        \(line)). End the chain with `catch` or `ignoreErrors`.
        """
      ])
    let broken = try #require(throws: BrokenPromiseError.self) {
      try Promise<Int> { _ in }.currentResult?.get()
    }
    #expect(
      DiagnosticsLog.texts(of: broken) == [
        "unhandled rejection: \(broken) End the chain with `catch` or `ignoreErrors`."
      ])
  }

  // In a process of its own, because the hook is global.
  @Test func line3_hookThatIsReplaced_goesOutsideTheLock_withWhatItHolds() async {
    await #expect(processExitsWith: .success) {
      let error = Boom(code: 9099)
      do {
        let promise = Promise<Int>.rejected(error)
        PromiseDiagnostics.setUnhandledRejectionHandler { _ in withExtendedLifetime(promise) {} }
      }
      DiagnosticsLog.install()
      #expect(DiagnosticsLog.reports(of: error).count == 1)
    }
  }

  @MainActor @Test func line9_catchOnlyOfAnotherType_isNotHandling() async throws {
    let error = Boom(code: 9005)
    let (end, resolver) = Promise<Void>.withResolvers()
    do {
      let other = Promise<Int>.rejected(error)
      _ = other.catch(only: OtherError.self) { _ in }
      let same = Promise<Int>.rejected(Boom(code: 9006))
      _ = same.catch(only: Boom.self) { _ in }
      // These run after the handlers above, and don't handle the errors.
      other.watch { _ in }
      same.watch { _ in resolver.fulfill() }
    }
    try await end.value
    #expect(DiagnosticsLog.reports(of: error).count == 1)
    #expect(DiagnosticsLog.reports(of: Boom(code: 9006)).isEmpty)
  }

  @Test func line9_cancellation_isNotReported() {
    let promise = Promise<Int>.never
    _ = promise.map(on: .immediate) { $0 }
    promise.cancel()
    #expect(DiagnosticsLog.reports(of: CancellationError()).isEmpty)
  }

  @Test func unhandledRejection_leftByTheHandlerOfReports_isReportedOnStandardError() async {
    await #expect(processExitsWith: .success) {
      PromiseDiagnostics.setUnhandledRejectionHandler { _ in
        _ = Promise<Int>.rejected(Boom())
      }
      _ = Promise<Int>.rejected(Boom())
    }
  }
}
