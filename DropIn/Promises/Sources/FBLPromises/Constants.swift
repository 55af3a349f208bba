import Foundation

/// The default number of attempts that `retry` makes after the first one.
public let __FBLPromiseRetryDefaultAttemptsCount: Int = 1

/// The default number of seconds that `retry` waits before it makes another attempt.
public let __FBLPromiseRetryDefaultDelayInterval: TimeInterval = 1.0
