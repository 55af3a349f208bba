#if Logging && Tracing
  import Logging
  import Pledge
  import PledgeLogging
  import PledgeTesting
  import PledgeTracing
  import Testing
  import Tracing

  /// The examples of the article on integrations that need logs and traces.
  @Suite struct ContextArticle {
    @Test func logs() async throws {
      TaskLocals.propagateLogger()
      TaskLocals.propagateServiceContext()

      try await expectFulfillment(of: respond(to: Request(id: 7)))
    }

    @Test func spans() async throws {
      let cart = Cart(id: "3")

      let receipt = Promise.withSpan("checkout") { span in
        span.attributes["cart"] = cart.id
        return reserve(cart)
          .then(span: "charge") { reservation in charge(reservation) }
          .map(span: "print") { payment in Receipt(payment) }
      }

      try await expectFulfillment(of: receipt)
    }

    func respond(to request: Request) -> Promise<Response> {
      withLogger(mergingMetadata: ["request": "\(request.id)"]) { _ in
        load(request)
          .map { page in
            Logger.current.info("loaded")
            return Response(page)
          }
      }
    }
  }

  private func registeringByHand() {
    TaskLocals.propagate(
      capturing: { Logger.current },
      restoring: { logger, work in withLogger(logger) { _ in work() } })
  }

  struct Request { let id: Int }
  struct Response { init(_ page: String) {} }
  private struct Cart { let id: String }
  private struct Payment {}
  private struct Receipt { init(_ payment: Payment) {} }

  private func load(_ request: Request) -> Promise<String> { .value("page \(request.id)") }
  private func reserve(_ cart: Cart) -> Promise<Cart> { .value(cart) }
  private func charge(_ reservation: Cart) -> Promise<Payment> { .value(Payment()) }
#endif
