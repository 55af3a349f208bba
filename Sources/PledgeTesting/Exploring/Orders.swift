/// The orders of a program's steps that ``explore(_:time:steps:patience:fileID:line:_:)`` tries.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public struct Orders: Sendable {
  enum Kind: Sendable {
    case all(limit: Int, deviations: Int?)
    case random(seed: UInt64, count: Int)
    case one(Order)
    /// Why there are no orders.
    case invalid(String)
  }

  let kind: Kind

  /// The order to replay.
  var replayed: Order? { if case .one(let order) = kind { order } else { nil } }

  /// Returns all orders, starting with the default order, which always runs the oldest step.
  ///
  /// The orders that deviate from it at one position follow, then those that deviate at two
  /// positions, and so on. The first order that fails is therefore one of the simplest.
  ///
  /// - Parameters:
  ///   - limit: The maximum number of orders to try; with less than one, the exploration throws
  ///     `PromiseError.invalidArgument`.
  ///   - deviations: The maximum number of positions at which an order deviates from the default
  ///     one; nil for no limit.
  public static func all(limit: Int = 10_000, deviations: Int? = nil) -> Orders {
    checked("limit", limit, .all(limit: limit, deviations: deviations))
  }

  /// Returns random orders, for programs with too many orders to try all of them.
  ///
  /// The same seed returns the same orders. With a count of less than one, the exploration throws
  /// `PromiseError.invalidArgument`.
  public static func random(seed: UInt64, count: Int = 1_000) -> Orders {
    checked("count", count, .random(seed: seed, count: count))
  }

  private static func checked(_ name: String, _ count: Int, _ kind: Kind) -> Orders {
    count >= 1
      ? Orders(kind: kind) : Orders(kind: .invalid("`\(name)` must be at least 1, not \(count)."))
  }

  /// Returns the one order that a ``FailingOrderError`` printed.
  ///
  /// The order also determines when time passes, in place of the exploration's `time`.
  ///
  /// If `order` isn't an order, the exploration throws `PromiseError.invalidArgument`; if it doesn't
  /// fit the program, and the test body succeeds, a ``FailingOrderError`` that says what doesn't fit.
  public static func replay(_ order: String) -> Orders {
    Orders(
      kind: Order(order).map { .one($0) }
        ?? .invalid("\(quoted(order)) isn't an order; pass the one that a failure printed."))
  }
}

/// An order of steps, represented by its deviations from the default order.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
struct Order: Sendable, Equatable, CustomStringConvertible {
  struct Deviation: Sendable, Equatable {
    /// The index of the choice at which it deviates.
    let position: Int
    /// The index of the step that it chooses; 0 is the oldest.
    let choice: Int
  }

  /// The deviations by ascending position; none of them chooses the oldest step.
  var deviations: [Deviation] = []
  /// When time passes in the run.
  var time = SimulatedTime.passesWhenIdle

  /// The deviations, such as `3:1 7:2`; `plain` if there are none; after `anytime` if time passes
  /// anytime.
  var description: String {
    let parts = deviations.map { "\($0.position):\($0.choice)" }
    return ((time == .passesAnytime ? ["anytime"] : []) + (parts.isEmpty ? ["plain"] : parts))
      .joined(separator: " ")
  }
}

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension Order {
  /// Creates an order from its ``description``; nil if `text` doesn't have that form.
  init?(_ text: String) {
    var parts = text.split(separator: " ")[...]
    if parts.first == "anytime" {
      time = .passesAnytime
      parts.removeFirst()
    }
    if parts == ["plain"] { return }
    for part in parts {
      let numbers = part.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) }
      guard numbers.count == 2, let position = numbers[0], let choice = numbers[1], choice > 0,
        position > (deviations.last?.position ?? -1)
      else { return nil }
      deviations.append(Deviation(position: position, choice: choice))
    }
    if deviations.isEmpty { return nil }
  }
}

/// Chooses the next step: as an order says, or at random.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
struct Chooser {
  /// What is left of the order.
  private var rest: ArraySlice<Order.Deviation> = []
  private var position = 0
  /// The state of SplitMix64; nil if it follows an order.
  private var random: UInt64?

  init(_ order: Order) { rest = order.deviations[...] }
  init(seed: UInt64) { random = seed }

  /// Returns a number below `count`; throws `RunFailure.doesNotFit`.
  mutating func choose(of count: Int) throws -> Int {
    if let state = random { return Int(mix(state &+ 0x9E37_79B9_7F4A_7C15) % UInt64(count)) }
    defer { position += 1 }
    guard let next = rest.first, next.position == position else { return 0 }
    guard next.choice < count else {
      throw RunFailure.doesNotFit(
        "\(Order(deviations: [next])) chooses a step that does not exist; \(count) were ready")
    }
    rest.removeFirst()
    return next.choice
  }

  private mutating func mix(_ state: UInt64) -> UInt64 {
    random = state
    var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Throws `RunFailure.doesNotFit` if the order has further choices.
  func end() throws {
    if rest.isEmpty { return }
    throw RunFailure.doesNotFit(
      "the test body ended after \(counted(position, "choice")), before \(Order(deviations: Array(rest)))"
    )
  }
}
