struct Settings: Sendable {
  /// The port of the gateway; 0 for one that the system chooses.
  var port = 0
  /// The time limit of a request, unless its header field `x-deadline-ms` specifies less.
  var timeout = Duration.seconds(2)
  /// The minimum delay after which a slow call is repeated; nil for never.
  var hedgeDelay: Duration? = .milliseconds(50)
  /// The fraction of calls that can be hedged, on average.
  var hedgeRatio = 0.05
  /// The number of calls that can be hedged beyond that, in a burst.
  var hedgeReserve = 20
  /// The number of attempts of a call that fails.
  var attempts = 3
  /// The maximum number of calls to one backend that run at the same time.
  var concurrency = 128
  /// The maximum number of calls to one backend that wait; further calls are rejected.
  var queueCapacity = 256
  /// The time for which the content of a page is fresh, and the time after that for which it is
  /// served while it is refreshed.
  var lifetime = Duration.seconds(1)
  var staleLifetime = Duration.seconds(10)
  /// The time for which the gateway accepts connections after the signal to shut down, so that load
  /// balancers detect the shutdown.
  var drain = Duration.seconds(1)
}
