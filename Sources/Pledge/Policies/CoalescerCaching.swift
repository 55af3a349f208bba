/// How long, and how many values, a ``RequestCoalescer`` caches.
public struct CoalescerCaching: Sendable, Hashable {
  let fresh: TimeSpan?
  let stale: TimeSpan
  let capacity: Int?

  /// Caches values for `lifetime`, and returns stale values for another `staleLifetime` while they
  /// are refreshed ("stale while revalidate").
  ///
  /// Expired values are removed whenever the number of keys has doubled, so there are at most 64
  /// keys, or twice as many as were in use the last time.
  ///
  /// - Parameters:
  ///   - lifetime: The time for which a value is cached; nil for no limit other than the capacity.
  ///   - staleLifetime: The time after its lifetime during which a stale value is still returned
  ///     while new work replaces it; zero or less for none. If that work fails, its error is ignored:
  ///     the stale value remains, and the next request starts new work.
  ///   - capacity: The maximum number of cached values, of which the least recently used one is
  ///     removed first; nil for no limit. With zero or less, none is cached.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public init(
    lifetime: Duration? = nil, staleLifetime: Duration = .zero, capacity: Int? = nil
  ) {
    self.init(lifetime.map { TimeSpan($0) }, stale: TimeSpan(staleLifetime), capacity)
  }

  init(_ fresh: TimeSpan?, stale: TimeSpan, _ capacity: Int?) {
    self.fresh = fresh
    self.stale = max(stale, .zero)
    self.capacity = capacity
  }

  /// The time for which a value is kept, in nanoseconds; nil for no limit.
  var total: Int64? {
    fresh.map {
      let (sum, overflow) = $0.inNanoseconds.addingReportingOverflow(stale.inNanoseconds)
      return overflow ? .max : sum
    }
  }
}
