public import GRPCCore
public import Pledge
import Synchronization

extension ServerContext {
  /// Returns the value of the promise that `start` returns, as the response to the present call.
  ///
  /// For the methods of a generated service:
  ///
  /// ```swift
  /// func sayHello(request: HelloRequest, context: ServerContext) async throws -> HelloReply {
  ///   try await context.serve { greet(request) }
  /// }
  /// ```
  ///
  /// **Cancellation.** The promise is cancelled when the client cancels the call or disconnects, when
  /// the call's deadline has passed, and when the server shuts down. This is the cancellation of one
  /// consumer: a promise that other calls wait for too continues for them.
  ///
  /// **Errors.** An `RPCError`, or an error that converts to one, reaches the client. So do a
  /// cancellation as `cancelled`, Pledge's `TimeoutError` as `deadlineExceeded`, and a full limiter as
  /// `resourceExhausted`. gRPC doesn't show any other error to the client, which gets `unknown`.
  ///
  /// **Execution.** `start` runs in the call's task, inside this call, so its promises find the task's
  /// local values. If the call has already been cancelled, it isn't called.
  public func serve<Value: Sendable>(_ start: () throws -> Promise<Value>) async throws -> Value {
    if cancellation.isCancelled || Task.isCancelled { throw RPCError(CancellationError()) }
    do {
      // A promise of this call's own: cancelling that leaves other consumers alone.
      let promise = try start().map(on: .immediate) { $0 }
      let canceller = Canceller { promise.cancel() }
      return try await withRPCCancellationHandler {
        canceller.begin()
        return try await promise.value
      } onCancelRPC: {
        canceller.cancel()
      }
    } catch {
      throw RPCError(error) ?? error
    }
  }
}

/// Cancels a promise, but not while gRPC registers the function that does: it may call it there, with a
/// lock held.
private final class Canceller: Sendable {
  private enum State {
    case registering(isCancelled: Bool)
    case registered
  }

  private let state = Mutex(State.registering(isCancelled: false))
  private let action: @Sendable () -> Void

  init(_ action: @escaping @Sendable () -> Void) { self.action = action }

  func begin() {
    let isCancelled = state.withLock { state in
      defer { state = .registered }
      if case .registering(true) = state { return true }
      return false
    }
    if isCancelled { action() }
  }

  func cancel() {
    let isRegistered = state.withLock { state in
      if case .registered = state { return true }
      state = .registering(isCancelled: true)
      return false
    }
    if isRegistered { action() }
  }
}

extension RPCError {
  init(_ error: CancellationError) {
    self.init(code: .cancelled, message: "The call was cancelled.")
  }

  /// What the client is told of an error of this library's; nil for any other error.
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
  /// Answers each call of `method` with the value of the promise that `handler` returns.
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

  /// Answers each call of `method`, which has many requests, with the value of the promise that
  /// `handler` returns.
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

  /// Answers each call of `method` with the responses that `handler` writes, as fast as the client
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

  /// Answers each call of `method`, which has many requests, with the responses that `handler` writes.
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
