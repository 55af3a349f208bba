#if canImport(ObjectiveC)
  import Foundation
  import Pledge

  extension NSObjectProtocol where Self: NSObject {
    /// Creates a guarantee for the next value of a property that supports key-value observing.
    ///
    /// The current value doesn't count. The guarantee retains the object until it is fulfilled; the
    /// observation ends at the same time.
    ///
    /// **Execution.** `condition` runs on the thread that sets the property, inside that call.
    ///
    /// **Cancellation.** Cancelling every promise created from the guarantee ends the observation.
    ///
    /// - Parameters:
    ///   - keyPath: The property.
    ///   - condition: Whether to accept the value; otherwise the guarantee waits for another
    ///     change.
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

  /// An observation that can be stopped at any time, even while it is being started.
  ///
  /// `@unchecked Sendable`: the variables are guarded by the lock; observations can be invalidated
  /// on any thread.
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
