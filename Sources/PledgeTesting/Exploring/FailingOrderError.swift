import Pledge

/// An order of steps in which a test body fails.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public struct FailingOrderError: Error, Sendable, CustomStringConvertible {
  /// The order, which you can pass to ``Orders/replay(_:)``.
  public let order: String
  /// The error that the body threw, or a description of another failure.
  public let error: any Error
  /// Descriptions of the steps, with their notes.
  public let steps: [String]
  /// The number of orders that were tried, including this one.
  public let orderCount: Int
  /// Whether the order failed again, in the same steps, when it was replayed, and nothing outside the
  /// simulation took part.
  public let isRepeatable: Bool
  let hasWorkFromOutside: Bool
  /// The source location of the exploration.
  public let origin: PromiseDiagnostics.SourceLocation

  /// The error, how to replay the order, and the last hundred lines of the steps.
  public var description: String {
    let left = steps.count - 100
    let reason =
      hasWorkFromOutside
      ? ", because work from outside the simulation took part, which can end after virtual time has "
        + "passed. Run that work on an executor of the simulation, or pass its promise to "
        + "`simulation.clock.follow(_:)`."
      : ": in this order, the program took other steps, or succeeded, when it ran again."
    let orderLimit = 2_000
    let cut = order.utf8.count - orderLimit
    let shown =
      quoted(order.prefix(orderLimit))
      + (cut > 0 ? " and \(cut) more characters, which the property `order` has" : "")
    let lines = [
      "The test body failed in order no. \(orderCount): \(error)",
      isRepeatable
        ? "To replay it: explore(.replay(\(shown)))"
        : "It isn't repeatable\(reason) The order: \(shown)",
      left > 0 ? "Steps (the property `steps` has \(left) lines before these):" : "Steps:",
    ]
    return (lines + steps.suffix(100).map { "  \($0)" }).joined(separator: "\n")
  }
}
