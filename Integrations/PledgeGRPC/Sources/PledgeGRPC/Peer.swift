public import GRPCCore
public import Pledge

/// A server that this program calls, with its calls as promises.
///
/// ```swift
/// let worker = Peer("10.0.0.7:4000", client)
///
/// let image = worker.call(resize, order, within: .seconds(5))
/// ```
///
/// A call starts inside the call of the method, and its promise is settled when the call has ended.
///
/// **Cancellation.** Cancelling the promise rejects it immediately and cancels the call: the server's
/// handler is cancelled as well. So does a time limit on the promise, such as `timeout(after:)`.
///
/// **Deadlines.** `within:` is a time limit that the server knows about too. If ``CallDeadline/current``
/// is earlier, it takes its place: a call that is made for another call has no more time than that.
///
/// **Errors.** The promise is rejected with the call's `RPCError`. If the server can't be reached, or
/// its connection ends, the error has the code `unavailable` and names the server.
///
/// The client must be running, as in `Promise { try await client.runConnections() }`: until then, calls
/// wait.
public struct Peer<Transport: ClientTransport>: Sendable {
  /// What errors call the server: its address, for instance.
  public let name: String
  /// The client whose connection the calls use.
  public let client: GRPCClient<Transport>

  /// Creates a peer.
  ///
  /// - Parameters:
  ///   - name: What errors call the server: its address, for instance.
  ///   - client: The client whose connection the calls use.
  public init(_ name: String, _ client: GRPCClient<Transport>) {
    self.name = name
    self.client = client
  }

  /// Calls a method of any kind by its generated function.
  ///
  /// ```swift
  /// let greeting = peer.call(within: .seconds(2)) { options in
  ///   try await greeter.sayHello(request, options: options)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - limit: How long the call can take, on either side; nil for no limit of its own.
  ///   - options: What gRPC offers for a call.
  ///   - fileID: The file to name in reports; the default is the caller's.
  ///   - line: The line to name in reports; the default is the caller's.
  ///   - call: Calls the function with these options, which have the time limit, and returns the
  ///     promise's value. Runs in a task of its own.
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
    return Promise(fileID: fileID, line: line) { [options] in
      do { return try await call(options) } catch { throw naming(error) }
    }
  }

  /// Sends `request`, for one response.
  ///
  /// - Parameters:
  ///   - method: The method.
  ///   - request: The request.
  ///   - limit: How long the call can take, on either side; nil for no limit of its own.
  ///   - metadata: What is sent with the request.
  ///   - options: What gRPC offers for a call.
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

  /// Sends the requests that `write` writes, as fast as the server takes them, for one response.
  ///
  /// ```swift
  /// worker.call(upload, writing: { requests in
  ///   requests.send(header).then { requests.send(content) }
  /// })
  /// ```
  ///
  /// The requests end when the promise of `write` is fulfilled. If it is rejected, or `write` throws,
  /// the call is cancelled and fails with that error. If the call ends before, the promise is cancelled.
  ///
  /// **Execution.** `write` runs in a task of its own.
  ///
  /// - Parameters:
  ///   - method: The method.
  ///   - limit: How long the call can take, on either side; nil for no limit of its own.
  ///   - metadata: What is sent before the requests.
  ///   - options: What gRPC offers for a call.
  ///   - fileID: The file to name in reports; the default is the caller's.
  ///   - line: The line to name in reports; the default is the caller's.
  ///   - write: Sends the requests.
  public func call<Request, Response>(
    _ method: RemoteMethod<Request, Response>, within limit: Duration? = nil,
    metadata: Metadata = [:], options: CallOptions = .defaults, fileID: StaticString = #fileID,
    line: UInt = #line,
    writing write: @escaping @Sendable (RPCWriter<Request>) throws -> Promise<Void>
  ) -> Promise<Response> {
    call(within: limit, options: options, fileID: fileID, line: line) { [client] options in
      let failure = FirstError()
      do {
        return try await client.clientStreaming(
          request: StreamingClientRequest(
            metadata: metadata, producer: failure.noting { try await write($0).value }),
          descriptor: method.descriptor, serializer: method.request,
          deserializer: method.response, options: options
        ) { try $0.message }
      } catch { throw failure.error ?? error }
    }
  }

  /// Sends `request` and passes the responses to a closure as they arrive, as fast as the closure's
  /// promises are fulfilled.
  ///
  /// ```swift
  /// let listed = worker.stream(list, folder) { file in database.insert(file) }
  /// ```
  ///
  /// A slow receiver slows down the server, and takes no more memory than a fast one. The promise is
  /// fulfilled when the server has ended the responses and the promise of the last one is fulfilled.
  /// It is also rejected with the error that `receive` throws, or with which a promise of `receive`
  /// is rejected; the call is then cancelled.
  ///
  /// **Execution.** `receive` runs in a task of its own, one call at a time.
  ///
  /// **Cancellation.** Cancelling the promise also cancels the promise of `receive`.
  ///
  /// - Parameters:
  ///   - method: The method.
  ///   - request: The request.
  ///   - limit: How long the call can take, on either side; nil for no limit of its own.
  ///   - metadata: What is sent with the request.
  ///   - options: What gRPC offers for a call.
  ///   - fileID: The file to name in reports; the default is the caller's.
  ///   - line: The line to name in reports; the default is the caller's.
  ///   - receive: Receives the responses in order, each once the promise of the one before is
  ///     fulfilled.
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
  /// has ended the responses; if the requests haven't ended then, the promise of `write` is cancelled.
  public func stream<Request, Response>(
    _ method: RemoteMethod<Request, Response>, within limit: Duration? = nil,
    metadata: Metadata = [:], options: CallOptions = .defaults, fileID: StaticString = #fileID,
    line: UInt = #line,
    writing write: @escaping @Sendable (RPCWriter<Request>) throws -> Promise<Void>,
    to receive: @escaping @Sendable (Response) throws -> Promise<Void>
  ) -> Promise<Void> {
    call(within: limit, options: options, fileID: fileID, line: line) { [client] options in
      let failure = FirstError()
      do {
        return try await client.bidirectionalStreaming(
          request: StreamingClientRequest(
            metadata: metadata, producer: failure.noting { try await write($0).value }),
          descriptor: method.descriptor, serializer: method.request,
          deserializer: method.response, options: options
        ) { response in
          for try await message in response.messages { try await receive(message).value }
        }
      } catch { throw failure.error ?? error }
    }
  }
}
