#if canImport(ObjectiveC)
  import Foundation
  import Pledge

  extension NSObjectProtocol where Self: NSObject {
    /// Creates a guarantee for the next value of a property that can be observed by key-value
    /// observing.
    ///
    /// The value it has now does not count. The observation ends immediately when the guarantee is
    /// fulfilled. The object is kept until then.
    ///
    /// **Execution.** `condition` runs on the thread that sets the property, inside that call.
    ///
    /// **Cancellation.** Cancelling every promise created from the guarantee ends the observation.
    ///
    /// - Parameters:
    ///   - keyPath: The property.
    ///   - condition: Whether to accept the value; otherwise the guarantee waits for another change.
    public func next<Value: Sendable>(
      _ keyPath: KeyPath<Self, Value>,
      where condition: @escaping @Sendable (Value) -> Bool = { _ in true }
    ) -> Guarantee<Value> {
      Guarantee { resolver in
        let observation = KeyValueObserver(object: self)
        observation.start(
          observe(keyPath, options: [.new]) { _, change in
            guard let value = change.newValue, condition(value) else { return }
            if observation.stop() { resolver.fulfill(value) }
          })
        resolver.onCancel { observation.stop() }
      }
    }
  }

  /// An observation that can be stopped at any time, also while it is being started.
  ///
  /// `@unchecked Sendable`: what changes is guarded by the lock; observations may be invalidated on
  /// any thread.
  private final class KeyValueObserver: @unchecked Sendable {
    private let lock = Mutex<Void>(())
    private var isStopped = false
    private var object: NSObject?
    private var observation: NSKeyValueObservation?

    init(object: NSObject) { self.object = object }

    func start(_ observation: NSKeyValueObservation) {
      let isLate = lock.withLock { _ in
        if !isStopped { self.observation = observation }
        return isStopped
      }
      if isLate { observation.invalidate() }
    }

    /// Ends the observation; returns whether this call was the first.
    @discardableResult
    func stop() -> Bool {
      var old: (NSObject?, NSKeyValueObservation?)
      let isFirst = lock.withLock { _ in
        defer { isStopped = true }
        old = (object, observation)
        object = nil
        observation = nil
        return !isStopped
      }
      old.1?.invalidate()
      return isFirst
    }
  }
#endif
