#if canImport(Combine)
  import Combine

  @available(iOS 13.0, macOS 10.15, tvOS 13.0, watchOS 6.0, *)
  extension Guarantee {
    /// A Combine future with the value of this guarantee.
    public func future() -> Future<T, Never> {
      Future { promise in
        self.done { promise(.success($0)) }
      }
    }
  }

  @available(iOS 13.0, macOS 10.15, tvOS 13.0, watchOS 6.0, *)
  extension Promise {
    /// A Combine future with the outcome of this promise; an error that says that something was
    /// cancelled never completes it.
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
    /// A promise with the outcome of this future.
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
    /// A guarantee of the value of this future.
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
