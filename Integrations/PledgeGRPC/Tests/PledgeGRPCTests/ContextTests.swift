import GRPCCore
import Instrumentation
import Pledge
import PledgeGRPC
import PledgeTesting
import PledgeTracing
import ServiceContextModule
import Testing

private enum Request {
  @TaskLocal static var id: String?
  @TaskLocal static var number: Int?
}

private enum TraceKey: ServiceContextKey { typealias Value = String }

extension ServiceContext {
  fileprivate var trace: String? {
    get { self[TraceKey.self] }
    set { self[TraceKey.self] = newValue }
  }
}

/// As a tracer's: it writes the trace's name.
private struct TestInstrument: Instrument {
  static let isInstalled: Void = InstrumentationSystem.bootstrap(TestInstrument())

  func inject<Carrier, Inject: Injector>(
    _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
  ) where Carrier == Inject.Carrier {
    if let trace = context.trace { injector.inject(trace, forKey: "test-trace", into: &carrier) }
  }

  func extract<Carrier, Extract: Extractor>(
    _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
  ) where Carrier == Extract.Carrier {
    context.trace = extractor.extract(key: "test-trace", from: carrier)
  }
}

private let context = ContextInterceptor(
  .taskLocal(Request.$id, as: "request-id"), .taskLocal(Request.$number, as: "request-number"),
  .serviceContext)

private func present() -> String {
  "\(Request.id ?? "-") \(Request.number ?? 0) \(ServiceContext.current?.trace ?? "-")"
}

@Suite struct ContextTests {
  init() {
    TestInstrument.isInstalled
    TaskLocals.propagate(Request.$id)
    TaskLocals.propagate(Request.$number)
    TaskLocals.propagateServiceContext()
  }

  @Test func context_travelsWithEachCall_andNeverWithAnother() async throws {
    let (ready, resolver) = Promise<TestPeer>.withResolvers()
    try await withPeer(
      {
        $0.register(Methods.count) { hops, _ in
          // On the way to the next server, a handler on a queue.
          ready.then(on: .global) { peer in
            hops == 0 ? .value(Request.number ?? 0) : peer.call(Methods.count, hops - 1)
          }
        }
        $0.register(Methods.text) { _, _ in
          Promise.value(()).map(on: .global) { present() }
        }
      }, context: context
    ) { peer, _ in
      resolver.fulfill(peer)
      // Four calls each, on a connection that has room for 100 of them.
      let numbers = (1...20).map { i in
        Request.$number.withValue(i) { peer.call(Methods.count, 3) }
      }
      try await expectFulfillment(of: Promise.all(numbers), with: Array(1...20))
      try await expectFulfillment(of: peer.call(Methods.text, ""), with: "- 0 -")
      var trace = ServiceContext.topLevel
      trace.trace = "t1"
      let told = ServiceContext.withValue(trace) {
        Request.$id.withValue("r 1 % é\n") { peer.call(Methods.text, "") }
      }
      try await expectFulfillment(of: told, with: "r 1 % é\n 0 t1")
    }
  }

  @Test func context_isThereForStreams() async throws {
    try await withPeer(
      {
        $0.registerStream(
          Methods.text,
          writing: { _, responses, _ in
            Promise.value(()).then(on: .global) { responses.send(present()) }
          })
        $0.registerStream(
          Methods.blocks,
          reading: { numbers, _ in
            numbers.forEach { _ in .value(()) }.map(on: .global) { [UInt8](present().utf8) }
          })
      }, context: context
    ) { peer, _ in
      let seen = Recorder<String>()
      let (all, bytes) = Request.$id.withValue("r2") {
        (
          peer.stream(Methods.text, "") { text in
            seen.record(text + "; " + present())
            return .value(())
          },
          peer.call(Methods.blocks, writing: { requests in requests.send(1) })
        )
      }
      try await expectFulfillment(of: all)
      #expect(seen.events == ["r2 0 -; r2 0 -"])
      try await expectFulfillment(of: bytes, with: Array("r2 0 -".utf8))
    }
  }

  @Test func valueThatCannotBeRead_countsAsNone() async throws {
    try await withPeer(
      { $0.register(Methods.text) { _, _ in .value(present()) } }, context: context
    ) { peer, _ in
      let reply = peer.call(
        Methods.text, "",
        metadata: ["request-number": "tea", "request-id": "%4", "grpc-timeout": "x"])
      try await expectFulfillment(of: reply, with: "%4 0 -")
    }
  }
}
