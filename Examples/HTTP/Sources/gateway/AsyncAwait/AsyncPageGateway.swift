import Logging
import Pledge
import PledgeLifecycle
import Tracing

// The loading of a page as `async` functions: `/async/{id}`.

extension PageGateway {
  /// Returns the page for one request, like `page(_:by:)`, with which it shares what is cached.
  func asyncPage(_ id: Int, by deadline: Deadline) async throws -> Page {
    try await withSpan("page") { [self] _ in
      try await withDeadline(deadline.instant) { [self] in
        async let content = asyncContent(id)
        async let price = prices.part(id, by: deadline)
        let parts = try await (content, price)
        return Page(product: parts.0.product, price: parts.1, reviews: parts.0.reviews)
      }
    }
  }

  private func asyncContent(_ id: Int) async throws -> Content {
    try await contents.value(for: id) { [self] in
      try await scope.run { [self] in try await loadContent(id, by: .after(timeout)) }.value
    }
  }

  private func loadContent(_ id: Int, by deadline: Deadline) async throws -> Content {
    try await withDeadline(deadline.instant) { [self] in
      async let product = products.part(id, by: deadline)
      async let reviews = optionalReviews(id, by: deadline)
      return try await Content(product: product, reviews: reviews)
    }
  }

  private func optionalReviews(_ id: Int, by deadline: Deadline) async throws -> [Review]? {
    do {
      return try await reviews.part(id, by: deadline)
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      Logger.current.warning("page \(id) has no reviews: \(error)")
      return nil
    }
  }
}
