import Hummingbird

/// The page that the gateway returns.
struct Page: ResponseCodable, Equatable {
  var product: Product
  var price: Price
  /// The reviews; nil if they couldn't be loaded.
  var reviews: [Review]?
}

/// The part of a page that is the same for all clients, and therefore shared and cached.
struct Content: Sendable {
  var product: Product
  var reviews: [Review]?
}

struct Product: ResponseCodable, Equatable {
  var id: Int
  var name: String
}

struct Price: ResponseCodable, Equatable { var cents: Int }

struct Review: ResponseCodable, Equatable {
  var stars: Int
  var text: String
}
