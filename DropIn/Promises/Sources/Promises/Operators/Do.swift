import Dispatch

extension Promise {
  /// A closure that produces the value of a promise.
  public typealias Do<T> = () throws -> T

  /// Creates a pending promise with the result of `work`.
  ///
  /// `work` runs on `queue`, never inside this call. If it throws, the promise is rejected with
  /// that error. Its result must be a `Value`; otherwise, reading the promise is a programmer
  /// error.
  @inlinable
  public convenience init<T>(on queue: DispatchQueue = .promises, _ work: @escaping Do<T>) {
    self.init()
    queue.hop {
      do { self.fulfill(converting: try work()) } catch { self.reject(error) }
    }
  }

  /// Creates a pending promise that is resolved like the one that `work` returns.
  ///
  /// `work` runs on `queue`, never inside this call. If it throws, the promise is rejected with
  /// that error. The value of the promise that it returns must be a `Value`.
  @inlinable
  public convenience init<T>(
    on queue: DispatchQueue = .promises, _ work: @escaping Do<Promise<T>>
  ) {
    self.init(adopter: ())
    queue.hop {
      do {
        let inner = try work()
        if let inner = inner as? Promise<Value> {
          self.adopt(inner, on: queue)
        } else {
          inner.observe(on: queue) { outcome in
            switch outcome {
            case .success(let value): self.fulfill(converting: value)
            case .failure(let error): self.reject(error)
            }
          }
        }
      } catch {
        self.reject(error)
      }
    }
  }

  /// Fulfills the promise with a value that must be a `Value`.
  @usableFromInline
  func fulfill<T>(converting value: T) {
    if let error = rejection(hiddenIn: value) {
      reject(error)
    } else {
      fulfill(with: UncheckedBox(converting: value))
    }
  }
}
