/// What an operator of the gateway can tune.
struct Settings: Sendable {
  /// The port of the gateway; 0 for one that the system chooses.
  var port = 0
  /// The time that a request has unless its header `x-deadline-ms` grants it less.
  var timeout = Duration.seconds(2)
  /// How long a backend may take before it is asked a second time; nil for never.
  var hedgeDelay: Duration? = .milliseconds(50)
  /// The part of calls that may be hedged, in the long run.
  var hedgeRatio = 0.05
  /// The number of calls that may be hedged beyond that, in a bad moment.
  var hedgeReserve = 20
  /// The number of attempts of a call that fails.
  var attempts = 3
  /// The number of calls to one backend that run at the same time.
  var concurrency = 128
  /// The number of calls to one backend that wait; further ones are rejected.
  var queueCapacity = 256
  /// How long the content of a page is fresh, and for how long after that it is served stale, while
  /// it is refreshed.
  var lifetime = Duration.seconds(1)
  var staleLifetime = Duration.seconds(10)
  /// The time between the signal to shut down and the end of accepting connections, in which load
  /// balancers notice.
  var drain = Duration.seconds(1)
}
