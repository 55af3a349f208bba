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
      let observer = Registration<any NSObjectProtocol> { self.removeObserver($0) }
      observer.start(
        addObserver(forName: name, object: object, queue: nil) { notification in
          guard let value = transform(notification) else { return }
          // Several threads can post at the same time; the first one fulfills the guarantee.
          if observer.stop() { resolver.fulfill(value) }
        })
      resolver.onCancel { observer.stop() }
    }
  }
}
