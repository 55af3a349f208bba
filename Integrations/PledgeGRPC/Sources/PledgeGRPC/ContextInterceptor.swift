public import GRPCCore

/// An interceptor that sends the context of a request with its calls.
///
/// Pass it to the client and to the server:
///
/// ```swift
/// let context = ContextInterceptor(.taskLocal(Request.$id, as: "request-id"), .serviceContext)
/// let client = GRPCClient(transport: transport, interceptors: [context])
/// ```
///
/// In the client, it sends the values that are current where the call starts, in the call's metadata. On
/// the server, it binds the same values while the handler runs, and ``CallDeadline/current`` to the call's
/// deadline. To propagate them to the handlers of promises, register them once in each program, when it
/// starts:
///
/// ```swift
/// TaskLocals.propagate(Request.$id)
/// TaskLocals.propagateServiceContext()
/// TaskLocals.propagateCallDeadline()
/// ```
public struct ContextInterceptor: ClientInterceptor, ServerInterceptor {
  private let values: [CarriedValue]

  /// Creates an interceptor for `values`, which must be the same in clients and servers.
  public init(_ values: CarriedValue...) { self.values = values }

  /// Adds the current values to a request; called by gRPC.
  public func intercept<Input: Sendable, Output: Sendable>(
    request: StreamingClientRequest<Input>, context: ClientContext,
    next: (StreamingClientRequest<Input>, ClientContext) async throws
      -> StreamingClientResponse<Output>
  ) async throws -> StreamingClientResponse<Output> {
    var request = request
    for value in values { value.carrier.inject(into: &request.metadata) }
    return try await next(request, context)
  }

  /// Calls the handler with the values of a request; called by gRPC.
  public func intercept<Input: Sendable, Output: Sendable>(
    request: StreamingServerRequest<Input>, context: ServerContext,
    next:
      @Sendable (StreamingServerRequest<Input>, ServerContext) async throws
      -> StreamingServerResponse<Output>
  ) async throws -> StreamingServerResponse<Output> {
    let limit = request.metadata[stringValues: "grpc-timeout"].first { _ in true }
    let metadata = request.metadata
    let deadline = limit.flatMap { Duration(timeLimit: $0) }.map { ContinuousClock.now + $0 }
    return try await CallDeadline.$current.withValue(deadline) {
      var response = try await restoring(values[...], from: metadata) {
        try await next(request, context)
      }
      // gRPC calls the closure that writes a stream's responses after this function has returned.
      if case .success(var contents) = response.accepted {
        let producer = contents.producer
        contents.producer = { writer in
          try await CallDeadline.$current.withValue(deadline) {
            try await restoring(values[...], from: metadata) { try await producer(writer) }
          }
        }
        response.accepted = .success(contents)
      }
      return response
    }
  }

  private func restoring<Result>(
    _ values: ArraySlice<CarriedValue>, from metadata: Metadata,
    _ body: () async throws -> Result
  ) async throws -> Result {
    guard let value = values.first else { return try await body() }
    return try await value.carrier.restoring(from: metadata) {
      try await restoring(values.dropFirst(), from: metadata, body)
    }
  }
}
