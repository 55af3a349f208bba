import Foundation
import Pledge

extension NotificationCenter {
  /// Creates a guarantee that is fulfilled when the next notification with a name is posted.
  ///
  /// Its observer is removed immediately after that.
  ///
  /// **Cancellation.** Cancelling every promise created from the guarantee removes the observer.
  ///
  /// - Parameters:
  ///   - name: The name of the notification.
  ///   - object: The object that posts the notification; nil for any object.
  public func next(_ name: Notification.Name, object: AnyObject? = nil) -> Guarantee<Void> {
    next(name, object: object) { _ in () }
  }

  /// Creates a guarantee for a value that `transform` extracts from the next notification with a
  /// name.
  ///
  /// A notification contains values of any type, so it can't be passed to another thread:
  ///
  /// ```swift
  /// center.next(.downloaded) { $0.userInfo?["file"] as? URL }.done { file in … }
  /// ```
  ///
  /// If `transform` returns nil, the guarantee waits for another notification. The observer is
  /// removed when the guarantee is fulfilled.
  ///
  /// **Execution.** `transform` runs on the thread that posts, inside that call, and never under a
  /// lock.
  ///
  /// **Cancellation.** Cancelling every promise created from the guarantee removes the observer.
  ///
  /// - Parameters:
  ///   - name: The name of the notification.
  ///   - object: The object that posts the notification; nil for any object.
  ///   - transform: Extracts a value from the notification, or returns nil to wait for another one.
  public func next<Value: Sendable>(
    _ name: Notification.Name, object: AnyObject? = nil,
    transform: @escaping @Sendable (Notification) -> Value?
  ) -> Guarantee<Value> {
    Guarantee { resolver in
      let observer = OneTimeObserver(center: self)
      observer.start(name, object) { notification in
        guard let value = transform(notification) else { return }
        // Several threads can post at the same time; the first one fulfills the guarantee.
        if observer.stop() { resolver.fulfill(value) }
      }
      resolver.onCancel { observer.stop() }
    }
  }
}

/// An observer that can be stopped at any time, even while it is being added.
///
/// `@unchecked Sendable`: `state` is a mutex, and notification centers are thread-safe.
private final class OneTimeObserver: @unchecked Sendable {
  /// `@unchecked Sendable`: a token is only passed back to its center.
  private enum State: @unchecked Sendable {
    case starting
    case observing(any NSObjectProtocol)
    case stopped
  }

  private let center: NotificationCenter
  private let state = Mutex(State.starting)

  init(center: NotificationCenter) { self.center = center }

  func start(
    _ name: Notification.Name, _ object: AnyObject?,
    _ handler: @escaping @Sendable (Notification) -> Void
  ) {
    let token = center.addObserver(
      forName: name, object: object, queue: nil, using: handler)
    let isLate = state.withLock { state in
      if case .stopped = state { return true }
      state = .observing(token)
      return false
    }
    if isLate { center.removeObserver(token) }
  }

  /// Removes the observer; returns whether this call was the first.
  @discardableResult
  func stop() -> Bool {
    var token: (any NSObjectProtocol)?
    let isFirst = state.withLock { state in
      if case .stopped = state { return false }
      if case .observing(let observer) = state { token = observer }
      state = .stopped
      return true
    }
    if let token { center.removeObserver(token) }
    return isFirst
  }
}
