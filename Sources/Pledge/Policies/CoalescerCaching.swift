/// How long, and how many values, a ``RequestCoalescer`` caches.
public struct CoalescerCaching: Sendable, Hashable {
  /// The time for which a value is cached; nil for no limit other than the capacity.
  ///
  /// Expired values are removed whenever the number of keys has doubled, so there are at most 64
  /// keys, or twice as many as were in use the last time.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public var lifetime: Duration? {
    get { fresh?.duration }
    set { fresh = newValue.map { TimeSpan($0) } }
  }
  /// The time after its lifetime during which a stale value is still returned while new work
  /// replaces it.
  ///
  /// If that work fails, its error is ignored: the stale value remains, and the next request starts
  /// new work.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public var staleLifetime: Duration {
    get { stale.duration }
    set { stale = TimeSpan(newValue) }
  }
  /// The maximum number of cached values; the least recently used one is removed first.
  public var capacity: Int?

  var fresh: TimeSpan?
  var stale: TimeSpan

  /// Caches values for `lifetime`, and returns stale values for another `staleLifetime` while they
  /// are refreshed ("stale while revalidate").
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public init(
    lifetime: Duration? = nil, staleLifetime: Duration = .zero, capacity: Int? = nil
  ) {
    self.init(lifetime.map { TimeSpan($0) }, stale: TimeSpan(staleLifetime), capacity)
  }

  init(_ fresh: TimeSpan?, stale: TimeSpan, _ capacity: Int?) {
    self.fresh = fresh
    self.stale = stale
    self.capacity = capacity
  }

  /// The time for which a value is kept, in nanoseconds; nil for no limit.
  var total: Int64? {
    fresh.map {
      let (sum, overflow) = $0.inNanoseconds.addingReportingOverflow(stale.inNanoseconds)
      return overflow ? (stale < .zero ? .min : .max) : sum
    }
  }
}
