import PledgeTesting
import Synchronization

/// What a handler holds, so that tests can see when the handler is released.
final class HandlerToken: Sendable {
  private static let live = Atomic(0)
  private let token: LifetimeTracker.Token

  /// How many are alive, of all programs together.
  static var liveCount: Int { live.load(ordering: .relaxed) }

  init(_ token: LifetimeTracker.Token) {
    self.token = token
    Self.live.wrappingAdd(1, ordering: .relaxed)
  }

  deinit { Self.live.wrappingSubtract(1, ordering: .relaxed) }
}
