#if canImport(Combine)
  import Combine

  @available(iOS 13.0, macOS 10.15, tvOS 13.0, watchOS 6.0, *)
  extension Guarantee {
    /// Returns a Combine future for the value of this guarantee.
    public func future() -> Future<T, Never> {
      Future { promise in self.done { promise(.success($0)) } }
    }
  }

  @available(iOS 13.0, macOS 10.15, tvOS 13.0, watchOS 6.0, *)
  extension Promise {
    /// Returns a Combine future for the result of this promise; an error that represents a
    /// cancellation never completes it.
    public func future() -> Future<T, Error> {
      Future { promise in
        self.done {
          promise(.success($0))
        }.catch {
          promise(.failure($0))
        }
      }
    }
  }

  @available(iOS 13.0, macOS 10.15, tvOS 13.0, watchOS 6.0, *)
  extension Future {
    /// Returns a promise for the result of this future.
    public func promise() -> PromiseKit.Promise<Output> {
      .init { resolver in
        var cancellable: AnyCancellable?
        cancellable = self.sink { completion in
          cancellable?.cancel()
          cancellable = nil
          if case .failure(let error) = completion { resolver.reject(error) }
        } receiveValue: { value in
          cancellable?.cancel()
          cancellable = nil
          resolver.fulfill(value)
        }
      }
    }
  }

  @available(iOS 13.0, macOS 10.15, tvOS 13.0, watchOS 6.0, *)
  extension Future where Failure == Never {
    /// Returns a guarantee for the value of this future.
    public func guarantee() -> Guarantee<Output> {
      .init { resolve in
        var cancellable: AnyCancellable?
        cancellable = self.sink { value in
          cancellable?.cancel()
          cancellable = nil
          resolve(value)
        }
      }
    }
  }
#endif
