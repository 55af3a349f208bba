#if Tracing
  import Dispatch
  import InMemoryTracing
  @_spi(DropIns) import Pledge
  import PledgeTesting
  import PledgeTracing
  import ServiceContextModule
  import Testing
  import Tracing

  struct Boom: Error, Equatable {}

  @Suite struct SpanTests {
    /// The tracer of the process; each test finds its spans by name.
    static let tracer: InMemoryTracer = {
      let tracer = InMemoryTracer()
      InstrumentationSystem.bootstrap(tracer)
      TaskLocals.propagateServiceContext()
      return tracer
    }()

    private func finished(_ name: String) -> [FinishedInMemorySpan] {
      Self.tracer.finishedSpans.filter { $0.operationName == name }
    }

    private func isActive(_ name: String) -> Bool {
      Self.tracer.activeSpans.contains { $0.operationName == name }
    }

    init() { _ = Self.tracer }

    @Test func span_endsWithThePromise() async throws {
      let (promise, resolver) = Promise<Int>.withResolvers()
      let result = Promise.withSpan("value") { span in
        #expect(ServiceContext.current?.inMemorySpanContext == span.context.inMemorySpanContext)
        return promise
      }
      #expect(isActive("value"))
      resolver.fulfill(1)
      try await expectFulfillment(of: result, with: 1)
      let spans = finished("value")
      #expect(spans.count == 1)
      #expect(spans.first?.errors.isEmpty == true)
      #expect(spans.first?.events.isEmpty == true)
    }

    @Test func error_isRecorded_andPassesOn() async throws {
      let result = Promise<Int>.rejected(Boom()).traced(as: "error")
      try await expectRejection(of: result, with: Boom())
      let thrown = Promise<Int>.withSpan("thrown") { _ in throw Boom() }
      try await expectRejection(of: thrown, with: Boom())
      for name in ["error", "thrown"] {
        let span = try #require(finished(name).first)
        #expect(span.errors.map { $0.error as? Boom } == [Boom()])
        #expect(span.status?.code == .error)
      }
    }

    @Test func cancellation_endsTheSpan_atOnce() throws {
      let (promise, resolver) = Promise<Int>.withResolvers()
      let result = promise.traced(as: "cancelled")
      result.cancel()
      let span = try #require(finished("cancelled").first)
      #expect(span.events.map(\.name) == ["cancelled"])
      #expect(span.errors.isEmpty)
      #expect(!resolver.fulfill(1))
    }

    @Test func cancellationOfOneConsumer_endsItsSpan_andNoOther() throws {
      let (promise, resolver) = Promise<Int>.withResolvers()
      let one = promise.traced(as: "one of two")
      let other = promise.traced(as: "other of two")
      one.map(on: .immediate) { $0 }.cancel()
      #expect(finished("one of two").count == 1)
      #expect(isActive("other of two"))
      resolver.fulfill(1)
      #expect(finished("other of two").count == 1)
      withExtendedLifetime(other) {}
    }

    @Test func abandonedPromise_endsTheSpan() throws {
      let (promise, resolver) = Promise<Int>.withResolvers()
      let result = promise.traced(as: "abandoned")
      resolver.abandon()
      let span = try #require(finished("abandoned").first)
      #expect(span.events.map(\.name) == ["abandoned"])
      withExtendedLifetime(result) {}
    }

    @Test func steps_haveSpansOfTheirOwn_beneathThatOfTheChain() async throws {
      actor Somewhere {}
      let (start, resolver) = Promise<Int>.withResolvers()
      let result = Promise.withSpan("chain") { _ in
        start
          .then(span: "first step", on: DispatchQueue(label: "spans")) { value in
            Promise.value(value).map(span: "inside of it") { $0 + 1 }
          }
          .map(span: "second step", on: .actor(Somewhere())) { $0 + 1 }
      }
      #expect(!isActive("first step"))
      resolver.fulfill(1)
      try await expectFulfillment(of: result, with: 3)
      let chain = try #require(finished("chain").first)
      let first = try #require(finished("first step").first)
      let inside = try #require(finished("inside of it").first)
      let second = try #require(finished("second step").first)
      #expect(first.parentSpanID == chain.spanID)
      #expect(inside.parentSpanID == first.spanID)
      #expect(second.parentSpanID == chain.spanID)
      #expect(Set([chain, first, inside, second].map(\.traceID)).count == 1)
    }

    @Test func stepThatIsCancelledOnItsWay_endsItsSpan() async throws {
      let inner = Promise<Int>.withResolvers()
      let began = CallCounter()
      let result = Promise.value(1).then(span: "half-way", on: .immediate) { _ in
        began.call()
        return inner.promise
      }
      try began.expectOnce()
      #expect(isActive("half-way"))
      result.cancel()
      try await expectCancellation(of: result)
      #expect(finished("half-way").first?.events.map(\.name) == ["cancelled"])
    }

    @Test func stepThatIsSkipped_hasNoSpan() async throws {
      let result = Promise<Int>.rejected(Boom()).map(span: "skipped") { $0 }
      try await expectRejection(of: result, with: Boom())
      #expect(finished("skipped").isEmpty)
      #expect(!isActive("skipped"))
    }

    @MainActor @Test func stepOnTheMainActor_runsThere() async throws {
      var count = 0
      let result = Promise.value(1).map(span: "main") { value in count += value }
      try await expectFulfillment(of: result)
      #expect(count == 1)
      #expect(finished("main").count == 1)
    }
  }
#endif
