import Pledge

/// An observer that can be removed at any time, even while it is being added.
///
/// `@unchecked Sendable`: the lock guards the state, and `remove` is called once, outside it; tokens
/// are only passed back to what made them, which is thread-safe.
final class Registration<Token>: @unchecked Sendable {
  private enum State {
    case adding
    case added(Token)
    case removed
  }

  private let lock = Mutex<Void>(())
  private var state = State.adding
  private let remove: (Token) -> Void

  init(remove: @escaping (Token) -> Void) { self.remove = remove }

  /// Sets the token of the observer, which is removed if it's too late.
  func start(_ token: Token) {
    let isLate = lock.withLock { _ in
      if case .removed = state { return true }
      state = .added(token)
      return false
    }
    if isLate { remove(token) }
  }

  /// Removes the observer; returns whether this call was the first.
  @discardableResult
  func stop() -> Bool {
    // Released outside the lock, because that can run a deinitializer.
    var old = State.removed
    lock.withLock { _ in swap(&state, &old) }
    switch old {
    case .adding: return true
    case .added(let token):
      remove(token)
      return true
    case .removed: return false
    }
  }
}
