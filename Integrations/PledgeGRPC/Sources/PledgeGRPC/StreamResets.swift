import Pledge

/// Limits how often the calls of a client are cancelled.
///
/// Cancelling a call resets its HTTP/2 stream. A server of SwiftNIO ends a connection, with all of its
/// calls, when it has received more than 200 resets within 30 seconds, because rapid resets are an attack.
final class StreamResets: Sendable {
  /// Less than half of what the server accepts: on a slow connection, the resets of two intervals can arrive
  /// within one, and gRPC resets streams on its own, too.
  private let limiter = Limiter(1, rate: Limiter.Rate(60, per: .seconds(30)))

  /// Returns a promise for the result of `call`, a task that runs one call.
  ///
  /// Cancelling the promise rejects it immediately, and cancels the task as soon as the limit allows, unless
  /// the call ends before that.
  func limiting<Value>(
    _ call: Promise<Value>, fileID: StaticString, line: UInt
  ) -> Promise<Value> {
    Promise(fileID: fileID, line: line) { resolver in
      call.observe(on: .immediate) { resolver.resolve($0) }
      resolver.onCancel { [limiter] in
        let cancellation = limiter.run(on: .immediate) {
          call.cancel()
          return Promise()
        }
        call.observe(on: .immediate) { _ in cancellation.cancel() }
      }
    }
  }
}
