import Dispatch
public import GRPCCore
public import Pledge

extension ServerContext {
  /// Returns the value of the promise that `start` returns, as the response to the current call.
  ///
  /// Use it in the methods of a generated service:
  ///
  /// ```swift
  /// func sayHello(request: HelloRequest, context: ServerContext) async throws -> HelloReply {
  ///   try await context.serve { greet(request) }
  /// }
  /// ```
  ///
  /// **Cancellation.** The promise is cancelled when the client cancels the call or disconnects, when
  /// the call's deadline has passed, and when the server shuts down. The call is one consumer of the
  /// promise: if other calls wait for the same promise, it continues for them.
  ///
  /// **Errors.** The client receives an `RPCError`, or an error that converts to one. It receives a
  /// cancellation as `cancelled`, Pledge's `TimeoutError` as `deadlineExceeded`, and the error of a full
  /// limiter as `resourceExhausted`. gRPC sends any other error as `unknown`, without details.
  ///
  /// **Execution.** `start` runs in the call's task, inside this call, so it can read the task's local
  /// values. If the call has already been cancelled, `start` doesn't run.
  public func serve<Value: Sendable>(_ start: () throws -> Promise<Value>) async throws -> Value {
    if cancellation.isCancelled || Task.isCancelled { throw RPCError(CancellationError()) }
    do {
      // A separate promise for this call: cancelling it doesn't affect other consumers.
      let promise = limited(try start().map(on: .immediate) { $0 })
      return try await withRPCCancellationHandler {
        try await promise.value
      } onCancelRPC: {
        // On another thread, because gRPC can call this while it holds a lock.
        DispatchQueue.global().async { promise.cancel() }
      }
    } catch {
      throw RPCError(error) ?? (error as? RPCError)?.withoutProtocolFields ?? error
    }
  }
}

/// Returns `promise`, which is rejected a second after the call's deadline.
///
/// gRPC cancels a call at its deadline, but not always if the client has already cancelled it.
private func limited<Value>(_ promise: Promise<Value>) -> Promise<Value> {
  guard let deadline = CallDeadline.current else { return promise }
  return promise.deadline(deadline + .seconds(1))
}

extension RPCError {
  init(_ error: CancellationError) {
    self.init(code: .cancelled, message: "The call was cancelled.")
  }

  /// The error that the client receives for an error of Pledge; nil for any other error.
  fileprivate init?(_ error: any Error) {
    switch error {
    case let error as CancellationError: self.init(error)
    case let error as TimeoutError:
      self.init(code: .deadlineExceeded, message: error.description)
    case let error as Limiter.QueueFullError:
      self.init(code: .resourceExhausted, message: error.description)
    default: return nil
    }
  }
}

extension RPCRouter {
  /// Registers a handler for `method` that responds with the value of its promise.
  ///
  /// ```swift
  /// struct Resizer: RegistrableRPCService {
  ///   func registerMethods(with router: inout RPCRouter<some ServerTransport>) {
  ///     router.register(resize) { order, context in load(order.url).map { image in … } }
  ///   }
  /// }
  /// ```
  ///
  /// For cancellation and errors, see ``GRPCCore/ServerContext/serve(_:)``.
  ///
  /// **Execution.** `handler` runs in the call's task.
  public mutating func register<Request, Response>(
    _ method: RemoteMethod<Request, Response>,
    _ handler: @escaping @Sendable (Request, ServerContext) throws -> Promise<Response>
  ) {
    registerHandler(
      forMethod: method.descriptor, deserializer: method.request, serializer: method.response
    ) { request, context in
      let request = try await ServerRequest(stream: request)
      let response = try await context.serve { try handler(request.message, context) }
      return StreamingServerResponse(single: ServerResponse(message: response))
    }
  }

  /// Registers a handler for `method` that reads a stream of requests and responds with the value of its
  /// promise.
  ///
  /// ```swift
  /// router.registerStream(upload, reading: { parts, context in
  ///   parts.forEach { part in file.write(part) }.map { Receipt() }
  /// })
  /// ```
  ///
  /// For cancellation and errors, see ``GRPCCore/ServerContext/serve(_:)``.
  ///
  /// **Execution.** `handler` runs in the call's task.
  public mutating func registerStream<Request, Response>(
    _ method: RemoteMethod<Request, Response>,
    reading handler:
      @escaping @Sendable (RPCAsyncSequence<Request, any Error>, ServerContext) throws
      -> Promise<Response>
  ) {
    registerHandler(
      forMethod: method.descriptor, deserializer: method.request, serializer: method.response
    ) { request, context in
      let response = try await context.serve { try handler(request.messages, context) }
      return StreamingServerResponse(single: ServerResponse(message: response))
    }
  }

  /// Registers a handler for `method` that writes a stream of responses, at the speed at which the client
  /// reads.
  ///
  /// ```swift
  /// router.registerStream(list, writing: { folder, responses, context in
  ///   Promise().reduce(files(in: folder)) { _, file in responses.send(file) }
  /// })
  /// ```
  ///
  /// The responses end when the promise of `handler` is fulfilled, or rejected. For cancellation and
  /// errors, see ``GRPCCore/ServerContext/serve(_:)``.
  ///
  /// **Execution.** `handler` runs in the call's task.
  public mutating func registerStream<Request, Response>(
    _ method: RemoteMethod<Request, Response>,
    writing handler:
      @escaping @Sendable (Request, RPCWriter<Response>, ServerContext) throws -> Promise<Void>
  ) {
    registerHandler(
      forMethod: method.descriptor, deserializer: method.request, serializer: method.response
    ) { request, context in
      let request = try await ServerRequest(stream: request)
      return StreamingServerResponse { writer in
        try await context.serve { try handler(request.message, writer, context) }
        return [:]
      }
    }
  }

  /// Registers a handler for `method` that reads a stream of requests and writes a stream of responses.
  ///
  /// The responses end when the promise of `handler` is fulfilled, or rejected. For cancellation and
  /// errors, see ``GRPCCore/ServerContext/serve(_:)``.
  ///
  /// **Execution.** `handler` runs in the call's task.
  public mutating func registerStream<Request, Response>(
    _ method: RemoteMethod<Request, Response>,
    readingAndWriting handler:
      @escaping @Sendable (
        RPCAsyncSequence<Request, any Error>, RPCWriter<Response>, ServerContext
      ) throws -> Promise<Void>
  ) {
    registerHandler(
      forMethod: method.descriptor, deserializer: method.request, serializer: method.response
    ) { request, context in
      StreamingServerResponse { writer in
        try await context.serve { try handler(request.messages, writer, context) }
        return [:]
      }
    }
  }
}
