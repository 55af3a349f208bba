import Foundation
import PromiseKit

extension NotificationCenter {
  /// Returns a guarantee for the next notification, resolved on the thread that posts it.
  public func observe(
    once name: Notification.Name, object: Any? = nil
  ) -> Guarantee<Notification> {
    let (guarantee, resolve) = Guarantee<Notification>.pending()
    let observer = addObserver(forName: name, object: object, queue: nil) { resolve($0) }
    guarantee.done { _ in self.removeObserver(observer) }
    return guarantee
  }
}

#if canImport(Darwin)
  extension NSObject {
    /// Returns a guarantee for the value at `keyPath` after its next change.
    ///
    /// It is resolved on the thread that makes the change. The object must not be deallocated
    /// before that.
    public func observe(_: PMKNamespacer, keyPath: String) -> Guarantee<Any?> {
      Guarantee { Observer(self, keyPath: keyPath, resolve: $0) }
    }
  }

  /// An observer that waits for one change and retains itself until then.
  private final class Observer: NSObject {
    private let resolve: (Any?) -> Void
    private var retainCycle: Observer?

    @discardableResult
    init(_ observed: NSObject, keyPath: String, resolve: @escaping (Any?) -> Void) {
      self.resolve = resolve
      super.init()
      retainCycle = self
      observed.addObserver(self, forKeyPath: keyPath, options: .new, context: nil)
    }

    override func observeValue(
      forKeyPath keyPath: String?, of object: Any?, change: [NSKeyValueChangeKey: Any]?,
      context: UnsafeMutableRawPointer?
    ) {
      guard retainCycle != nil, let keyPath, let observed = object as? NSObject else { return }
      resolve(change?[.newKey])
      observed.removeObserver(self, forKeyPath: keyPath)
      retainCycle = nil
    }
  }

  /// Returns a guarantee that is resolved when `object` is deallocated.
  ///
  /// All calls with the same object return the same guarantee.
  public func after(life object: NSObject) -> Guarantee<Void> {
    if let farewell = objc_getAssociatedObject(object, Farewell.key) as? Farewell {
      return farewell.guarantee
    }
    let farewell = Farewell()
    objc_setAssociatedObject(object, Farewell.key, farewell, .OBJC_ASSOCIATION_RETAIN)
    return farewell.guarantee
  }

  /// An object that is deallocated together with the object with which it is associated.
  private final class Farewell {
    // A unique address; nothing is stored there.
    nonisolated(unsafe) static let key = UnsafeRawPointer(
      UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1))

    private let pending = Guarantee<Void>.pending()
    var guarantee: Guarantee<Void> { pending.guarantee }
    deinit { pending.resolve(()) }
  }
#endif
