#if Logging && Tracing
  import InMemoryLogging
  import InMemoryTracing
  import Logging
  import Pledge
  import PledgeLogging
  import PledgeTesting
  import PledgeTracing
  import Testing
  import Tracing

  /// The examples of the article on integrations that need logs and traces.
  @Suite struct ContextArticle {
    @Test func line_containsTheMetadataOfItsRequest() async throws {
      TaskLocals.propagateLogger()
      TaskLocals.propagateServiceContext()

      let lines = InMemoryLogHandler()
      let response = withLogger(Logger(label: "article", factory: { _ in lines })) { _ in
        respond(to: Request(id: 7))
      }
      try await expectFulfillment(of: response, with: Response("page 7"))
      #expect(lines.entries.map { "\($0.message)" } == ["loaded"])
      #expect(lines.entries.map(\.metadata) == [["request": "7"]])
    }

    @Test func spansOfSteps_areChildrenOfThatOfTheChain() async throws {
      let tracer = SpanTests.tracer
      let cart = Cart(id: "3")

      let receipt = Promise.withSpan("checkout") { span in
        span.attributes["cart"] = cart.id
        return reserve(cart)
          .then(span: "charge") { reservation in charge(reservation) }
          .map(span: "print") { payment in Receipt(payment) }
      }

      try await expectFulfillment(of: receipt, with: Receipt(Payment(cart: "3")))
      func finished(_ name: String) throws -> FinishedInMemorySpan {
        let spans = tracer.finishedSpans.filter { $0.operationName == name }
        #expect(spans.count == 1)
        return try #require(spans.first)
      }
      let checkout = try finished("checkout")
      #expect(checkout.attributes.get("cart") == "3".toSpanAttribute())
      #expect(try finished("charge").parentSpanID == checkout.spanID)
      #expect(try finished("print").parentSpanID == checkout.spanID)
    }

    private func respond(to request: Request) -> Promise<Response> {
      withLogger(mergingMetadata: ["request": "\(request.id)"]) { _ in
        load(request)
          .map { page in
            Logger.current.info("loaded")
            return Response(page)
          }
      }
    }
  }

  private struct Request { let id: Int }
  private struct Cart { let id: String }
  private struct Payment: Equatable { let cart: String }

  private struct Response: Equatable {
    let page: String
    init(_ page: String) { self.page = page }
  }

  private struct Receipt: Equatable {
    let payment: Payment
    init(_ payment: Payment) { self.payment = payment }
  }

  private func load(_ request: Request) -> Promise<String> { .value("page \(request.id)") }
  private func reserve(_ cart: Cart) -> Promise<Cart> { .value(cart) }
  private func charge(_ reservation: Cart) -> Promise<Payment> {
    .value(Payment(cart: reservation.id))
  }
#endif
