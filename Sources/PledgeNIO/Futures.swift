#if NIO
  import NIOCore
  import Pledge

  extension EventLoopFuture where Value: Sendable {
    /// A promise with the outcome of this future.
    ///
    /// Each use makes a promise of its own, one more consumer of the future. Cancelling it rejects that
    /// promise with `CancellationError`; the future, its producer and its other consumers go on.
    ///
    /// A future cannot forget a callback. Where many consumers of one long-lived future may give up,
    /// take one promise of it and make theirs from that: what they leave there is removed at once.
    @inlinable
    public var promise: Promise<Value> {
      PromiseOfLoop.make(#fileID, #line) { resolver in
        whenComplete { resolver.resolve($0) }
      }
    }

    /// Makes a promise with the outcome of this future, whose cancellation notifies the producer.
    ///
    /// The future itself is not failed by a cancellation: others may wait for it. The producer may, by
    /// the promise that it holds; the promise made here is then rejected with `CancellationError`,
    /// whatever the error of the producer.
    ///
    /// ```swift
    /// let reply = client.send(request).promise(onCancel: { client.abort(request) })
    /// ```
    ///
    /// - Parameter onCancel: Called once if the promise is cancelled before the future completes, on
    ///   the thread that cancels; released on completion.
    @inlinable
    public func promise(
      onCancel: @escaping @Sendable () -> Void, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Promise<Value> {
      PromiseOfLoop.prepare()
      let (promise, resolver) = Promise<Value>.withResolvers(fileID: fileID, line: line)
      resolver.onCancel(onCancel)
      whenComplete { result in
        // A producer that is notified may fail the future with an error of its own.
        if case .failure = result, promise.isCancelled {
          resolver.reject(CancellationError())
        } else {
          resolver.resolve(result)
        }
      }
      return promise
    }
  }

  /// Makes promises that an event loop settles.
  @usableFromInline
  enum PromiseOfLoop {
    @inlinable
    static func make<Value: Sendable>(
      _ fileID: StaticString, _ line: UInt, _ body: (Resolver<Value>) -> Void
    ) -> Promise<Value> {
      prepare()
      return Promise(fileID: fileID, line: line, body)
    }

    @usableFromInline
    static func prepare() { BlockingOnLoops.areFound }
  }

  extension Thenable {
    /// Makes a future on `loop` with the outcome of this promise.
    ///
    /// The future is one more consumer of the promise, and never gives up. A promise that is abandoned
    /// fails it with `BrokenPromiseError`, and one that is cancelled with `CancellationError`. Keep the
    /// promise to cancel it. The loop must run until then, as for every promise of a loop.
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
    /// Completes this promise as `promise` settles; if that is abandoned, with `BrokenPromiseError`.
    ///
    /// Use it where an event loop's API hands out a promise to be completed.
    @inlinable
    public func completeWith(_ promise: Promise<Value>) {
      promise.observeOutcome { self.completeWith($0) }
    }
  }

  extension Resolver {
    /// Makes an event loop's promise that settles the promise of this resolver.
    ///
    /// For API of event loops that takes a promise to complete:
    ///
    /// ```swift
    /// let written = Promise { resolver in
    ///   channel.writeAndFlush(buffer, promise: resolver.eventLoopPromise(on: channel.eventLoop))
    /// }
    /// ```
    ///
    /// It has to be completed, as any promise of an event loop. If this resolver's promise was settled
    /// or cancelled before, completing it changes nothing.
    @inlinable
    public func eventLoopPromise(
      on loop: any EventLoop, fileID: StaticString = #fileID, line: UInt = #line
    ) -> EventLoopPromise<Value> {
      PromiseOfLoop.prepare()
      let promise = loop.makePromise(of: Value.self, file: fileID, line: line)
      promise.futureResult.whenComplete { self.resolve($0) }
      return promise
    }
  }
#endif
