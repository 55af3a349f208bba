#if NIO
  import NIOCore
  import Pledge

  extension EventLoopFuture where Value: Sendable {
    /// A promise with the result of this future.
    ///
    /// Each access creates a new promise. Nothing stops the producer of the future, so the promise
    /// stays pending when all its consumers have cancelled: later consumers receive the result.
    /// Calling `cancel()` on the promise itself rejects it with `CancellationError`, and doesn't
    /// affect the future or its other consumers.
    ///
    /// A future retains its callbacks until it completes. If many consumers of a long-lived future,
    /// such as a channel's `closeFuture`, may be cancelled, create one promise from the future and
    /// let all consumers use that: a promise releases a consumer that is cancelled.
    @inlinable
    public var promise: Promise<Value> {
      Promise(fileID: #fileID, line: #line) { resolver in
        resolver.outlivesConsumers()
        whenDone { resolver.resolve($0) }
      }
    }

    /// Returns a promise with the result of this future that notifies the producer when it is
    /// cancelled.
    ///
    /// Cancelling the promise doesn't fail the future, which can have other consumers. The producer
    /// can fail it in response; the promise is then rejected with `CancellationError`, whatever
    /// error the producer used.
    ///
    /// ```swift
    /// let reply = client.send(request).promise(onCancel: { client.abort(request) })
    /// ```
    ///
    /// - Parameters:
    ///   - onCancel: A closure that is called once if the promise is cancelled before the future
    ///     completes; see ``Pledge/Resolver/onCancel(_:)``. It is released when the future
    ///     completes.
    ///   - fileID: The file to name in reports; the default is the caller's.
    ///   - line: The line to name in reports; the default is the caller's.
    @inlinable
    public func promise(
      onCancel: @escaping @Sendable () -> Void, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Promise<Value> {
      let (promise, resolver) = Promise<Value>.withResolvers(fileID: fileID, line: line)
      resolver.onCancel(onCancel)
      whenDone { result in
        // A producer that is notified may fail the future with a different error.
        if case .failure = result, promise.isCancelled {
          resolver.reject(CancellationError())
        } else {
          resolver.resolve(result)
        }
      }
      return promise
    }

    /// Calls `body` with the result of this future: every conversion of a future goes through this.
    @usableFromInline
    func whenDone(_ body: @escaping @Sendable (Result<Value, any Error>) -> Void) {
      _ = BlockingOnLoops.isForbidden
      whenComplete(body)
    }
  }

  extension Thenable {
    /// Returns a future on `loop` with the result of this promise.
    ///
    /// The future completes in order with the handlers of this promise on `loop`: those that you
    /// attach later run after the callbacks of the future, and so do all that depend on them.
    ///
    /// The future is a consumer of the promise that is never cancelled. It fails with
    /// `BrokenPromiseError` if the promise is abandoned, and with `CancellationError` if it is
    /// cancelled. To be able to cancel the promise, keep it. The loop must run until the promise
    /// has settled, as for any future of the loop.
    @inlinable
    public func future(
      on loop: any EventLoop, fileID: StaticString = #fileID, line: UInt = #line
    ) -> EventLoopFuture<Value> {
      let result = loop.makePromise(of: Value.self, file: fileID, line: line)
      result.completeWith(promise)
      return result.futureResult
    }
  }

  extension EventLoopPromise where Value: Sendable {
    /// Completes this promise with the result of `promise`, or with `BrokenPromiseError` if
    /// `promise` is abandoned.
    ///
    /// This is a handler of `promise` on the event loop of this promise, and runs in order with the
    /// others there.
    ///
    /// Use it if an API of an event loop passes you a promise to complete.
    @inlinable
    public func completeWith(_ promise: Promise<Value>) {
      promise.observeOutcome(on: .eventLoop(futureResult.eventLoop)) { self.completeWith($0) }
    }
  }

  extension Resolver {
    /// Makes the promise independent of its consumers' cancellation.
    @usableFromInline
    func outlivesConsumers() { keepProducer() }

    /// Returns an event loop's promise that settles the promise of this resolver when it is
    /// completed.
    ///
    /// Use it to call an API of an event loop that takes a promise to complete:
    ///
    /// ```swift
    /// let written = Promise { resolver in
    ///   channel.writeAndFlush(buffer, promise: resolver.eventLoopPromise(on: channel.eventLoop))
    /// }
    /// ```
    ///
    /// You must complete it, as any promise of an event loop. If this resolver's promise has
    /// already settled or been cancelled, completing it has no effect.
    @inlinable
    public func eventLoopPromise(
      on loop: any EventLoop, fileID: StaticString = #fileID, line: UInt = #line
    ) -> EventLoopPromise<Value> {
      let promise = loop.makePromise(of: Value.self, file: fileID, line: line)
      promise.futureResult.whenDone { self.resolve($0) }
      return promise
    }
  }
#endif
