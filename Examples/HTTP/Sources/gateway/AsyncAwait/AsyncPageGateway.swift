import Logging
import Tracing

/// Loads a page from three backends, like `PageGateway`, in plain `async`/`await`: `/async/{id}`.
final class AsyncPageGateway: Sendable {
  let products: AsyncBackend<Product>
  let reviews: AsyncBackend<[Review]>
  let prices: AsyncBackend<Price>

  private let contents: AsyncCoalescer<Int, Content>
  private let timeout: Duration

  init(backends: BackendAddresses, settings: Settings, services: SharedServices) {
    products = AsyncBackend(
      name: "products", address: backends.products, settings: settings, services: services)
    reviews = AsyncBackend(
      name: "reviews", address: backends.reviews, settings: settings, services: services)
    prices = AsyncBackend(
      name: "prices", address: backends.prices, settings: settings, services: services)
    contents = AsyncCoalescer(
      lifetime: settings.lifetime, staleLifetime: settings.staleLifetime, capacity: 10_000,
      metrics: AsyncCoalescerMetrics("contents", factory: services.metrics))
    timeout = settings.timeout
  }

  func page(_ id: Int, by deadline: Deadline) async throws -> Page {
    try await withSpan("page") { [self] _ in
      try await withDeadline(deadline.instant) { [self] in
        async let content = contents.value(for: id) { [self] in
          try await loadContent(id, by: .after(timeout))
        }
        async let price = prices.get(id, by: deadline)
        let parts = try await (content, price)
        return Page(product: parts.0.product, price: parts.1, reviews: parts.0.reviews)
      }
    }
  }

  private func loadContent(_ id: Int, by deadline: Deadline) async throws -> Content {
    try await withDeadline(deadline.instant) { [self] in
      async let product = products.get(id, by: deadline)
      async let reviews = optionalReviews(id, by: deadline)
      return try await Content(product: product, reviews: reviews)
    }
  }

  private func optionalReviews(_ id: Int, by deadline: Deadline) async throws -> [Review]? {
    do {
      return try await reviews.get(id, by: deadline)
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      Logger.current.warning("page \(id) has no reviews: \(error)")
      return nil
    }
  }
}
