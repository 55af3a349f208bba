#if Logging && Tracing
  import Dispatch
  import InMemoryLogging
  import Logging
  import Pledge
  import PledgeLogging
  import PledgeTesting
  import PledgeTracing
  import ServiceContextModule
  import Testing

  #if NIO
    import NIOPosix
    import PledgeNIO
  #endif

  @Suite struct LoggingTests {
    private static let requests = 200

    /// The executors of the steps; no two consecutive steps use the same one.
    private static let executors: [any PromiseExecutor] = {
      actor Somewhere {}
      var executors: [any PromiseExecutor] = [
        DispatchQueue(label: "steps"), .actor(Somewhere()), .global, DispatchQueue.main,
      ]
      #if NIO
        executors.append(.eventLoop(MultiThreadedEventLoopGroup.singleton.next()))
      #else
        executors.append(DispatchQueue(label: "more steps"))
      #endif
      return executors
    }()

    /// Starts a chain of five steps for a request, each of which calls `log`.
    private func chain(
      _ start: Promise<Void>, _ id: String, _ log: @escaping @Sendable (Logger.Message) -> Void
    ) -> Promise<Void> {
      var last = start
      for (step, executor) in Self.executors.enumerated() {
        let message: Logger.Message = "step \(step) of \(id)"
        // Every other step waits for another promise.
        last =
          step.isMultiple(of: 2)
          ? last.map(on: executor) { log(message) }
          : last.then(on: executor) {
            log(message)
            return Promise<Void>.after(.milliseconds(1))
          }
      }
      return last
    }

    private func expectStepsOfEachRequest(in entries: [InMemoryLogHandler.Entry], key: String) {
      #expect(entries.count == Self.requests * Self.executors.count)
      for entry in entries {
        let id = entry.metadata[key].map { "\($0)" } ?? "none"
        #expect("\(entry.message)".hasSuffix(" of \(id)"))
      }
      let messages = Set(entries.map { "\($0.message)" })
      #expect(messages.count == Self.requests * Self.executors.count)
    }

    @Test func idInALoggersMetadata_standsInEveryLineOfItsRequest_andInNoOther() async throws {
      TaskLocals.propagateLogger()
      TaskLocals.propagateLogger()
      let handler = InMemoryLogHandler()
      let (start, resolver) = Promise<Void>.withResolvers()
      let chains = (0..<Self.requests).map { number in
        var logger = Logger(label: "test", factory: { _ in handler })
        logger[metadataKey: "request"] = "r\(number)"
        return withLogger(logger) { _ in chain(start, "r\(number)") { Logger.current.info($0) } }
      }
      withLogger(Logger(label: "settler", factory: { _ in handler })) { _ in
        _ = resolver.fulfill(())
      }
      for chain in chains { try await chain.value }
      expectStepsOfEachRequest(in: handler.entries, key: "request")
    }

    @Test func idInTheServiceContext_standsInEveryLineOfItsRequest_andInNoOther() async throws {
      TaskLocals.propagateServiceContext()
      var handler = InMemoryLogHandler()
      handler.metadataProvider = Logger.MetadataProvider {
        ServiceContext.current?.requestID.map { ["request": "\($0)"] } ?? [:]
      }
      let logger = Logger(label: "test", factory: { [handler] _ in handler })
      let (start, resolver) = Promise<Void>.withResolvers()
      let chains = (0..<Self.requests).map { number in
        var context = ServiceContext.topLevel
        context.requestID = "r\(number)"
        return ServiceContext.withValue(context) { chain(start, "r\(number)") { logger.info($0) } }
      }
      var other = ServiceContext.topLevel
      other.requestID = "the settler's"
      ServiceContext.withValue(other) { _ = resolver.fulfill(()) }
      for chain in chains { try await chain.value }
      expectStepsOfEachRequest(in: handler.entries, key: "request")
    }
  }

  private enum RequestIDKey: ServiceContextKey { typealias Value = String }

  extension ServiceContext {
    fileprivate var requestID: String? {
      get { self[RequestIDKey.self] }
      set { self[RequestIDKey.self] = newValue }
    }
  }
#endif
