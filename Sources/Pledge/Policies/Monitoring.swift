// Events of the library's policies, which integrations count.

/// An event of a policy, counted for the whole process.
package enum PolicyEvent: Sendable {
  /// Another attempt starts after a failed one.
  case retried
  /// A retried operation failed permanently.
  case gaveUp
  /// A second or later request was started before an earlier one succeeded.
  case hedged
}

/// An event of one limiter.
package enum LimiterEvent: Sendable {
  /// The number of waiting operations changed by this much.
  case waiting(Int)
  /// The number of running operations changed by this much.
  case running(Int)
  /// An operation that starts now has waited this long.
  case waited(nanoseconds: Int64)
  /// An operation has ended after this time.
  case ran(nanoseconds: Int64)
  /// An operation was rejected because the queue was full.
  case rejected
  /// The limit has this new value.
  case limit(Int)
}

/// An event of one circuit breaker.
package enum CircuitEvent: Sendable {
  /// A call was rejected because the circuit was open.
  case rejected
  /// A call has ended.
  case ended(CircuitOutcome)
  /// The circuit has a new state.
  case changed(CircuitBreaker.State)
}

/// What the end of a call says about the service.
package enum CircuitOutcome: Sendable {
  case success
  case failure
  /// Nothing, because the call was cancelled.
  case ignored
}

/// How a coalescer served a request, or what happened to a cached value.
package enum CoalescerEvent: Sendable {
  /// The coalescer started work for the request.
  case started
  /// The request joined work in progress.
  case joined
  /// The request was served a cached value.
  case cached
  /// The request was served a stale value, which is being refreshed.
  case stale
  /// A stale value couldn't be refreshed.
  case refreshFailed
}

/// An event of one loader; its requests are events of its coalescer.
package enum LoaderEvent: Sendable {
  /// A batch with this many keys has started.
  case started(keys: Int)
  /// A batch function threw an error.
  case failed
  /// The results of a batch didn't match its keys.
  case mismatched
}

extension Monitoring {
  /// The monitors of the process.
  package static let policies = Monitors<PolicyEvent>()
}
