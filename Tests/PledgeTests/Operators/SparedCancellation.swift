@_spi(DropIns) import Pledge

/// Handlers of drop-in modules, which call their closure in place for what the module defines as a
/// cancellation.
@Suite struct SparedCancellation {
  private let queue = DispatchQueue(label: "spared")

  /// Attaches both kinds of handlers; each records the error and whether it's on `queue`.
  private func attach(to promise: Promise<Int>, _ seen: Recorder<String>) -> [Promise<Void>] {
    let probe = ExecutorProbe(queue)
    let record = { @Sendable (error: any Error) in
      seen.record("\(error) \(probe.isCurrent ? "queue" : "in place")")
    }
    let executor = QueueExecutor(queue)
    return [
      promise.catch(on: executor, sparingCancellation: true, record),
      promise.recover(on: executor, sparingCancellation: true) { error in
        record(error)
        return .value(1)
      }.asVoid(),
    ]
  }

  @Test(arguments: When.allCases)
  func errorMarkedAsCancellation_isPassedInPlace_othersOnTheQueue(when: When) async throws {
    for isCancellation in [false, true] {
      let seen = Recorder<String>()
      let ends = when.reject(UnreportedError(Boom(), isCancellation: isCancellation)) {
        attach(to: $0, seen)
      }
      for end in ends { try await expectFulfillment(of: end) }
      let place = isCancellation ? "in place" : "queue"
      #expect(seen.events == Array(repeating: "\(Boom()) \(place)", count: 2))
    }
  }

  @Test func cancelledWhileItWaits_isPassedInPlace() {
    let seen = Recorder<String>()
    for end in attach(to: .never, seen) { end.cancel() }
    #expect(seen.events == Array(repeating: "CancellationError() in place", count: 2))
  }
}
