/// The error of a call that a circuit breaker rejects without starting it.
public struct CircuitOpenError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The time until the breaker admits a call again; nil if only ``CircuitBreaker/close()`` ends it.
  ///
  /// While the breaker is half-open, this is the longest time until it admits another probe.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public var retryAfter: Duration? { span?.duration }

  /// The time in seconds until the breaker admits a call again; see ``retryAfter``.
  public var retryAfterInSeconds: Double? { span?.inSeconds }

  let span: TimeSpan?

  /// A description that states the time, in seconds and rounded up, so that logs can group the errors.
  public var description: String {
    guard let span else { return "The circuit breaker is open until it's closed by hand." }
    let seconds = Int64(min(max(span.inSeconds.rounded(.up), 1), 1e15))
    return "The circuit breaker is open; it admits another call in \(seconds) s."
  }
}
