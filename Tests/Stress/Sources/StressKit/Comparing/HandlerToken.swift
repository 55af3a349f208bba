import PledgeTesting
import Synchronization

/// An object that a handler captures, so that tests can tell when the handler is released.
final class HandlerToken: Sendable {
  private static let live = Atomic(0)
  private let token: LifetimeTracker.Token

  /// The number of live tokens of all programs.
  static var liveCount: Int { live.load(ordering: .relaxed) }

  init(_ token: LifetimeTracker.Token) {
    self.token = token
    Self.live.wrappingAdd(1, ordering: .relaxed)
  }

  deinit { Self.live.wrappingSubtract(1, ordering: .relaxed) }
}
