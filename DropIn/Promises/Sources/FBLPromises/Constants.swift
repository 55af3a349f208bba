import Foundation

/// How often `retry` tries again when it is not told otherwise.
public let __FBLPromiseRetryDefaultAttemptsCount: Int = 1

/// How many seconds `retry` waits before it tries again when it is not told otherwise.
public let __FBLPromiseRetryDefaultDelayInterval: TimeInterval = 1.0
