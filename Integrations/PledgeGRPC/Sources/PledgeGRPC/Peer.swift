public import GRPCCore
public import Pledge

/// A server whose methods you call, with promises for the results.
///
/// ```swift
/// let worker = Peer("10.0.0.7:4000", client)
///
/// let image = worker.call(resize, order, within: .seconds(30))
/// ```
///
/// Each method starts the call before it returns. The promise settles when the call has ended.
///
/// **Cancellation.** Cancelling the promise rejects it immediately and cancels the call, including the
/// handler on the server. A timeout of the promise, such as `timeout(after:)`, does the same. After 60
/// cancellations within 30 seconds, further calls are cancelled later, when that is possible without
/// the end of the connection, unless they end before. Create one peer for each client.
///
/// **Deadlines.** `within:` sets a time limit that is also sent to the server. If ``CallDeadline/current``
/// is earlier, it applies instead, so a call that a handler makes ends by the deadline of the handler's call.
///
/// **Errors.** The promise is rejected with the call's `RPCError`. If the server can't be reached, or
/// its connection ends, the error has the code `unavailable` and contains the name of the server.
///
/// Calls wait until the client is running, as with `Promise { try await client.runConnections() }`.
public struct Peer<Transport: ClientTransport>: Sendable {
  /// The name of the server in errors, for example its address.
  public let name: String
  /// The client whose connection the calls use.
  public let client: GRPCClient<Transport>
  private let resets = StreamResets()

  /// Creates a peer.
  ///
  /// - Parameters:
  ///   - name: The name of the server in errors, for example its address.
  ///   - client: The client whose connection the calls use.
  public init(_ name: String, _ client: GRPCClient<Transport>) {
    self.name = name
    self.client = client
  }

  /// Calls a method of any kind with its generated function.
  ///
  /// ```swift
  /// let greeting = peer.call(within: .seconds(2)) { options in
  ///   try await greeter.sayHello(request, options: options)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - limit: The time limit of the call, on both sides; nil for none.
  ///   - options: The options of gRPC for the call.
  ///   - fileID: The file to name in reports; the default is the caller's.
  ///   - line: The line to name in reports; the default is the caller's.
  ///   - call: A closure that calls the function with the options that it receives, which contain the
  ///     time limit, and returns the promise's value. It runs in a separate task.
  public func call<Value: Sendable>(
    within limit: Duration? = nil, options: CallOptions = .defaults,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ call: @escaping @Sendable (CallOptions) async throws -> Value
  ) -> Promise<Value> {
    var options = options
    options.timeout = [
      options.timeout, limit, CallDeadline.current.map { ContinuousClock.now.duration(to: $0) },
    ].compactMap { $0 }.min()
    if let time = options.timeout, time <= .zero { return .rejected(deadlineHasPassed) }
    let running = Promise(fileID: fileID, line: line) { [options] in
      do { return try await call(options) } catch { throw naming(error) }
    }
    return resets.limiting(running, fileID: fileID, line: line)
  }

  /// Sends `request` and returns a promise for the response.
  ///
  /// - Parameters:
  ///   - method: The method.
  ///   - request: The request.
  ///   - limit: The time limit of the call, on both sides; nil for none.
  ///   - metadata: The metadata of the request.
  ///   - options: The options of gRPC for the call.
  ///   - fileID: The file to name in reports; the default is the caller's.
  ///   - line: The line to name in reports; the default is the caller's.
  public func call<Request, Response>(
    _ method: RemoteMethod<Request, Response>, _ request: Request, within limit: Duration? = nil,
    metadata: Metadata = [:], options: CallOptions = .defaults, fileID: StaticString = #fileID,
    line: UInt = #line
  ) -> Promise<Response> {
    call(within: limit, options: options, fileID: fileID, line: line) { [client] options in
      try await client.unary(
        request: ClientRequest(message: request, metadata: metadata),
        descriptor: method.descriptor, serializer: method.request, deserializer: method.response,
        options: options
      ) { try $0.message }
    }
  }

  /// Sends the requests that `write` writes, at the speed at which the server reads, and returns a promise
  /// for the response.
  ///
  /// ```swift
  /// worker.call(upload, writing: { requests in
  ///   requests.send(header).then { requests.send(content) }
  /// })
  /// ```
  ///
  /// The requests end when the promise of `write` is fulfilled. If it is rejected, or `write` throws,
  /// the call is cancelled and fails with that error. If the call ends first, the promise is cancelled.
  ///
  /// **Execution.** `write`, which sends the requests after the metadata, runs in a separate task.
  ///
  /// For the other parameters, see ``call(_:_:within:metadata:options:fileID:line:)``.
  public func call<Request, Response>(
    _ method: RemoteMethod<Request, Response>, within limit: Duration? = nil,
    metadata: Metadata = [:], options: CallOptions = .defaults, fileID: StaticString = #fileID,
    line: UInt = #line,
    writing write: @escaping @Sendable (RPCWriter<Request>) throws -> Promise<Void>
  ) -> Promise<Response> {
    call(within: limit, options: options, fileID: fileID, line: line) { [client] options in
      try await writing(write, metadata) { request in
        try await client.clientStreaming(
          request: request, descriptor: method.descriptor, serializer: method.request,
          deserializer: method.response, options: options
        ) { try $0.message }
      }
    }
  }

  /// Sends `request` and passes each response to a closure, after the promise for the response before it
  /// has been fulfilled.
  ///
  /// ```swift
  /// let listed = worker.stream(list, folder) { file in database.insert(file) }
  /// ```
  ///
  /// If the receiver is slower than the server, the server has to wait. The promise is fulfilled when the
  /// server has ended the responses and the promise for the last one is fulfilled. If `receive` throws an
  /// error, or a promise that it returned is rejected, the call is cancelled and the promise is rejected
  /// with that error.
  ///
  /// **Execution.** `receive` runs in a separate task, one call at a time.
  ///
  /// **Cancellation.** Cancelling the promise also cancels the promise that `receive` returned.
  ///
  /// For the other parameters, see ``call(_:_:within:metadata:options:fileID:line:)``.
  public func stream<Request, Response>(
    _ method: RemoteMethod<Request, Response>, _ request: Request, within limit: Duration? = nil,
    metadata: Metadata = [:], options: CallOptions = .defaults, fileID: StaticString = #fileID,
    line: UInt = #line, to receive: @escaping @Sendable (Response) throws -> Promise<Void>
  ) -> Promise<Void> {
    call(within: limit, options: options, fileID: fileID, line: line) { [client] options in
      try await client.serverStreaming(
        request: ClientRequest(message: request, metadata: metadata),
        descriptor: method.descriptor, serializer: method.request, deserializer: method.response,
        options: options
      ) { response in
        for try await message in response.messages { try await receive(message).value }
      }
    }
  }

  /// Sends the requests that `write` writes, and passes the responses to `receive`, at the same time.
  ///
  /// See ``call(_:within:metadata:options:fileID:line:writing:)`` and
  /// ``stream(_:_:within:metadata:options:fileID:line:to:)``. The promise is fulfilled when the server
  /// has ended the responses. If the requests haven't ended by then, the promise of `write` is cancelled.
  public func stream<Request, Response>(
    _ method: RemoteMethod<Request, Response>, within limit: Duration? = nil,
    metadata: Metadata = [:], options: CallOptions = .defaults, fileID: StaticString = #fileID,
    line: UInt = #line,
    writing write: @escaping @Sendable (RPCWriter<Request>) throws -> Promise<Void>,
    to receive: @escaping @Sendable (Response) throws -> Promise<Void>
  ) -> Promise<Void> {
    call(within: limit, options: options, fileID: fileID, line: line) { [client] options in
      try await writing(write, metadata) { request in
        try await client.bidirectionalStreaming(
          request: request, descriptor: method.descriptor, serializer: method.request,
          deserializer: method.response, options: options
        ) { response in
          for try await message in response.messages { try await receive(message).value }
        }
      }
    }
  }
}
