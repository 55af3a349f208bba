import Pledge
import PledgeTesting
import Testing

/// Many consumers of one promise: each is removed in constant time, in any order.
@Suite(.apart) struct ManyConsumers {
  enum Order: CaseIterable { case oldestFirst, newestFirst, interleaved }

  @Test(arguments: Order.allCases) func removal_leavesTheOthers(_ order: Order) async throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    let calls = Recorder<Int>()
    let consumers = (0..<1_000).map { index in
      promise.done(on: .immediate) { _ in calls.record(index) }
    }
    let removed =
      switch order {
      case .oldestFirst: Array(0..<500)
      case .newestFirst: Array((500..<1_000).reversed())
      case .interleaved: Array(stride(from: 0, to: 1_000, by: 2))
      }
    for index in removed { consumers[index].cancel() }
    resolver.fulfill(1)
    #expect(calls.events == (0..<1_000).filter { !removed.contains($0) })
    for index in removed { #expect(consumers[index].state == "rejected: \(CancellationError())") }
  }

  @Test(arguments: Order.allCases) func lastOneRemoved_cancelsTheProducer(_ order: Order) {
    let (promise, resolver) = Promise<Int>.withResolvers()
    let cancelled = CallCounter()
    resolver.onCancel { cancelled.call() }
    var consumers = (0..<100).map { _ in promise.map(on: .immediate) { $0 } }
    switch order {
    case .oldestFirst: break
    case .newestFirst: consumers.reverse()
    case .interleaved:
      consumers = consumers.enumerated().sorted {
        ($0.offset % 2, $0.offset) < ($1.offset % 2, $1.offset)
      }.map(\.element)
    }
    for consumer in consumers.dropLast() { consumer.cancel() }
    #expect(cancelled.count == 0)
    consumers.last?.cancel()
    #expect(cancelled.count == 1)
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
