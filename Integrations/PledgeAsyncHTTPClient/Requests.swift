#if AsyncHTTPClient
  import AsyncHTTPClient
  import Logging
  import NIOCore
  import NIOHTTP1
  import Pledge
  import PledgeNIO

  extension HTTPClient {
    /// Sends a GET request to `url` and collects the body of the response.
    ///
    /// The promise is rejected with `HTTPClientError.invalidURL` if `url` isn't a valid URL.
    /// Otherwise, this method behaves like ``load(_:upTo:deadline:logger:fileID:line:)`` with a
    /// request.
    public func load(
      _ url: String, upTo maximumBodySize: Int? = nil, deadline: NIODeadline? = nil,
      logger: Logger? = nil, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Promise<Response> {
      do {
        return load(
          try Request(url: url), upTo: maximumBodySize, deadline: deadline, logger: logger,
          fileID: fileID, line: line)
      } catch {
        return .rejected(error)
      }
    }

    /// Sends `request` and collects the body of the response.
    ///
    /// The client checks the certificate of a server; over SwiftNIO's TLS, it also accepts one that
    /// contains the IP address of the peer instead of the host in the URL.
    ///
    /// The request starts inside this call. The promise is fulfilled with the response, whatever
    /// its HTTP status. It is rejected with the client's error if the request fails, and with
    /// `ResponseAccumulator.ResponseTooBigError` if the body is larger than `maximumBodySize`.
    ///
    /// **Cancellation.** Cancelling the promise rejects it immediately, and closes the request's
    /// connection, or its stream in HTTP/2.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - maximumBodySize: The maximum size of the body, in bytes; nil for 4 GiB.
    ///   - deadline: The time at which a request that hasn't ended fails; nil for the client's time
    ///     limits.
    ///   - logger: The logger that the client uses.
    ///   - fileID: The file to name in reports; the default is the caller's.
    ///   - line: The line to name in reports; the default is the caller's.
    public func load(
      _ request: Request, upTo maximumBodySize: Int? = nil, deadline: NIODeadline? = nil,
      logger: Logger? = nil, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Promise<Response> {
      let delegate =
        maximumBodySize.map {
          ResponseAccumulator(request: request, maxBodySize: min(max($0, 0), Int(UInt32.max)))
        } ?? ResponseAccumulator(request: request)
      return perform(request, delegate, deadline, logger, fileID, line)
    }

    /// Sends `request` and passes the body of the response to a closure in parts, each after the
    /// promise for the part before it has been fulfilled.
    ///
    /// ```swift
    /// let copied = client.stream(request) { part in file.write(part) }
    /// ```
    ///
    /// The client reads only a few parts ahead of `receive`. If the receiver is slower than the
    /// network, the server has to wait, and memory use stays constant.
    ///
    /// The request starts inside this call. The promise is fulfilled with the head of the response
    /// when the promise for the last part is fulfilled. It is rejected with the error that `accept`
    /// or `receive` throws, with the error of a promise that `receive` returned, or with the
    /// client's error if the request fails.
    ///
    /// **Execution.** `accept` and `receive` run on the request's event loop, one call at a time,
    /// so they must not block. The context that ``Pledge/TaskLocals`` propagates is that of this
    /// call.
    ///
    /// **Cancellation.** Cancelling the promise rejects it immediately, and closes the request's
    /// connection, or its stream in HTTP/2. It also cancels the promise that `receive` returned,
    /// and `receive` isn't called again.
    ///
    /// For the other parameters, see ``load(_:upTo:deadline:logger:fileID:line:)``.
    ///
    /// - Parameters:
    ///   - accept: A closure that receives the head before the body is read; to end the request, it
    ///     throws an error.
    ///   - receive: A closure that receives the parts in order, each after the promise for the part
    ///     before it has been fulfilled.
    public func stream(
      _ request: Request, deadline: NIODeadline? = nil, logger: Logger? = nil,
      fileID: StaticString = #fileID, line: UInt = #line,
      accepting accept: @escaping @Sendable (HTTPResponseHead) throws -> Void = { _ in },
      to receive: @escaping @Sendable (ByteBuffer) throws -> Promise<Void>
    ) -> Promise<HTTPResponseHead> {
      let delegate = StreamDelegate(accept: accept, receive: receive)
      return perform(request, delegate, deadline, logger, fileID, line, onCancel: delegate.stop)
    }

    private func perform<Delegate: HTTPClientResponseDelegate>(
      _ request: Request, _ delegate: Delegate, _ deadline: NIODeadline?, _ logger: Logger?,
      _ fileID: StaticString, _ line: UInt, onCancel: @escaping @Sendable () -> Void = {}
    ) -> Promise<Delegate.Response> {
      var request = request
      var writing: CurrentPiece?
      if let stream = request.body?.stream {
        let piece = CurrentPiece()
        let context = RequestContext()
        request.body?.stream = { writer in
          CurrentPiece.$ofBody.withValue(piece) { context.call { stream(writer) } }
        }
        writing = piece
      }
      let task = execute(
        request: request, delegate: delegate, eventLoop: .indifferent, deadline: deadline,
        logger: logger)
      if let writing { task.futureResult.whenComplete { _ in writing.end() } }
      let cancel: @Sendable () -> Void = {
        onCancel()
        task.cancel()
      }
      return task.futureResult.promise(onCancel: cancel, fileID: fileID, line: line)
    }
  }

  /// Passes the parts of a body to a closure, and makes the client wait for the closure's promises.
  private final class StreamDelegate: HTTPClientResponseDelegate {
    typealias Response = HTTPResponseHead

    private struct NoHeadError: Error {}

    private let accept: @Sendable (HTTPResponseHead) throws -> Void
    private let receive: @Sendable (ByteBuffer) throws -> Promise<Void>
    private let context = RequestContext()
    private let head = Mutex<HTTPResponseHead?>(nil)
    private let receiving = CurrentPiece()

    init(
      accept: @escaping @Sendable (HTTPResponseHead) throws -> Void,
      receive: @escaping @Sendable (ByteBuffer) throws -> Promise<Void>
    ) {
      self.accept = accept
      self.receive = receive
    }

    /// Prevents further calls of the closures.
    func stop() { receiving.end() }

    func didReceiveHead(
      task: HTTPClient.Task<HTTPResponseHead>, _ head: HTTPResponseHead
    ) -> EventLoopFuture<Void> {
      self.head.withLock { $0 = head }
      if receiving.isOver { return task.eventLoop.makeFailedFuture(CancellationError()) }
      return task.eventLoop.makeCompletedFuture(context.call { Result { try accept(head) } })
    }

    func didReceiveBodyPart(
      task: HTTPClient.Task<HTTPResponseHead>, _ buffer: ByteBuffer
    ) -> EventLoopFuture<Void> {
      // The client can be delivering this part while another thread cancels the request.
      if receiving.isOver { return task.eventLoop.makeFailedFuture(CancellationError()) }
      let promise = context.call { () -> Promise<Void> in
        do { return try receive(buffer) } catch { return .rejected(error) }
      }
      if case .success? = promise.currentResult { return task.eventLoop.makeSucceededVoidFuture() }
      receiving.begin(promise)
      return promise.future(on: task.eventLoop)
    }

    func didReceiveError(task: HTTPClient.Task<HTTPResponseHead>, _ error: any Error) {
      receiving.end()
    }

    func didFinishRequest(
      task: HTTPClient.Task<HTTPResponseHead>
    ) throws -> HTTPResponseHead {
      guard let head = head.withLock({ $0 }) else { throw NoHeadError() }
      return head
    }
  }

  /// The context of the code that sends a request.
  private struct RequestContext: Sendable {
    private let snapshot = TaskLocals.snapshot()

    /// Calls `body` in the context.
    func call<Result>(_ body: () -> Result) -> Result {
      if let snapshot { snapshot.call(body) } else { body() }
    }
  }
#endif
