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
        // The token retains the object, which an observation doesn't.
        let observation = Registration<(Self, NSKeyValueObservation)> { $0.1.invalidate() }
        observation.start(
          (
            self,
            observe(keyPath, options: [.new]) { _, change in
              guard let value = change.newValue, condition(value) else { return }
              if observation.stop() { resolver.fulfill(value) }
            }
          ))
        resolver.onCancel { observation.stop() }
      }
    }
  }
#endif
