import Logging
import Pledge
import PledgeDiagnostics
import PledgeLifecycle
import PledgeMetrics
import PledgeTracing

/// Loads a page from three backends: `/page/{id}`.
///
/// Start reading here. `AsyncAwait/AsyncPageGateway.swift` does the same in `async` functions.
final class PageGateway: Sendable {
  let products: Backend<Product>
  let reviews: Backend<[Review]>
  let prices: Backend<Price>
  let contents: RequestCoalescer<Int, Content>
  let scope: GracefulScope
  let timeout: Duration

  init(backends: BackendAddresses, settings: Settings, services: SharedServices) {
    func backend<Part>(_ name: String, at address: Promise<String>) -> Backend<Part> {
      Backend(name: name, address: address, settings: settings, services: services)
    }
    products = backend("products", at: backends.products)
    reviews = backend("reviews", at: backends.reviews)
    prices = backend("prices", at: backends.prices)
    contents = RequestCoalescer(
      caching: .init(
        lifetime: settings.lifetime, staleLifetime: settings.staleLifetime, capacity: 10_000)
    ).measured(as: "contents", factory: services.metrics)
    scope = services.scope
    timeout = settings.timeout
  }

  /// Returns a promise for the page for one request, which fails at `deadline`.
  ///
  /// Cancelling the promise, or exceeding the deadline, cancels all calls that no other request
  /// needs, including their HTTP requests.
  func page(_ id: Int, by deadline: Deadline) -> Promise<Page> {
    Promise.withSpan("page") { _ in
      Promise.all(content(id), prices.get(id, by: deadline), cancellingRest: true)
        .map(on: .immediate) { content, price in
          Page(product: content.product, price: price, reviews: content.reviews)
        }
        .deadline(deadline.instant)
    }
    .named("page \(id)")
  }

  /// Returns a promise for the part of a page that all requests for it share.
  ///
  /// Requests that arrive while it is being loaded wait for the same calls. Requests that arrive
  /// while it is stale receive the stale value while it is being refreshed. It has a separate
  /// deadline, because the deadline of one request must not fail the others. When no request waits
  /// for it, its calls are cancelled.
  private func content(_ id: Int) -> Promise<Content> {
    contents.promise(for: id) {
      scope.run(on: .immediate) { [self] in loadContent(id, by: .after(timeout)) }
    }
  }

  private func loadContent(_ id: Int, by deadline: Deadline) -> Promise<Content> {
    let product = products.get(id, by: deadline)
    let reviews = reviews.get(id, by: deadline)
      .map(on: .immediate) { reviews in Optional(reviews) }
      .recover(on: .immediate) { error in
        Logger.current.warning("page \(id) has no reviews: \(error)")
        return .value(nil)
      }
    return Promise.all(product, reviews, cancellingRest: true)
      .map(on: .immediate) { product, reviews in Content(product: product, reviews: reviews) }
      .deadline(deadline.instant)
      .named("content \(id)")
  }
}
