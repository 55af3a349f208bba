import GRPCCore
import Pledge
import PledgeGRPC
import PledgeTesting
import Testing

@Suite struct CallTests {
  @Test func call_hasTheResponse() async throws {
    try await withPeer {
      $0.register(Methods.text) { text, _ in
        Promise.value(text).map(on: .global) { $0.uppercased() }
      }
      $0.register(Methods.bytes) { bytes, _ in .value(bytes.reversed()) }
    } _: { peer, _ in
      try await expectFulfillment(of: peer.call(Methods.text, "tea"), with: "TEA")
      try await expectFulfillment(of: peer.call(Methods.bytes, [1, 2, 3]), with: [3, 2, 1])
    }
  }

  @Test func generatedFunction_isAPromise() async throws {
    try await withPeer {
      $0.register(Methods.text) { text, _ in .value("\(text), \(CallDeadline.current != nil)") }
    } _: { peer, _ in
      // What a generated client's function does.
      let reply = peer.call(within: .seconds(60)) { options in
        try await peer.client.unary(
          request: ClientRequest(message: "tea"), descriptor: Methods.text.descriptor,
          serializer: Methods.text.request, deserializer: Methods.text.response, options: options
        ) { try $0.message }
      }
      try await expectFulfillment(of: reply, with: "tea, true")
    }
  }

  @Test func errors_reachTheClient_asTheirCodes() async throws {
    try await withPeer {
      $0.register(Methods.text) { text, _ in
        switch text {
        case "RPCError": throw RPCError(code: .notFound, message: "no tea")
        case "time": return Promise.never.timeout(after: .zero)
        case "cancelled": return .rejected(CancellationError())
        case "full":
          let limiter = Limiter(1, queueCapacity: 0)
          let held = Held<String>()
          let first = limiter.run { held.promise() }
          return limiter.run { .value("") }.finally(on: .immediate) { _ = first }
        default: return .rejected(Boom())
        }
      }
    } _: { peer, _ in
      try await expectRPCError(
        of: peer.call(Methods.text, "RPCError"), .notFound, containing: "no tea")
      try await expectRPCError(
        of: peer.call(Methods.text, "time"), .deadlineExceeded, containing: "deadline")
      try await expectRPCError(of: peer.call(Methods.text, "cancelled"), .cancelled)
      try await expectRPCError(
        of: peer.call(Methods.text, "full"), .resourceExhausted, containing: "queue is full")
      try await expectRPCError(of: peer.call(Methods.text, ""), .unknown)
      try await expectRPCError(of: peer.call(Methods.count, 1), .unimplemented)
    }
  }

  /// How a handler calls another server.
  enum Call: CaseIterable { case peer, client }

  @Test(arguments: Call.allCases)
  func errorOfAnotherServer_reachesTheClient(call: Call) async throws {
    try await withPeer {
      $0.register(Methods.text) { text, _ in
        var error = RPCError(code: text == "tea" ? .notFound : .unavailable, message: "no \(text)")
        error.metadata.addString("kettle", forKey: "source")
        throw error
      }
    } _: { last, _ in
      try await withPeer {
        $0.register(Methods.text) { text, context in
          switch call {
          case .peer: return last.call(Methods.text, text)
          case .client:
            return Promise {
              try await last.client.unary(
                request: ClientRequest(message: text), descriptor: Methods.text.descriptor,
                serializer: Methods.text.request, deserializer: Methods.text.response,
                options: .defaults
              ) { try $0.message }
            }
          }
        }
      } _: { first, _ in
        let reply = first.call(Methods.text, "tea")
        try await expectRPCError(of: reply, .notFound, containing: "no tea")
        let error = try await expectRejection(of: reply, with: RPCError.self)
        #expect(error.message == "no tea")
        #expect(error.metadata.map(\.key) == ["source"])
        let other = try await expectRejection(
          of: first.call(Methods.text, "milk"), with: RPCError.self)
        #expect(other.code == .unavailable && other.message == "no milk")
      }
    }
  }

  @Test func responseThatCannotBeRead_rejects() async throws {
    try await withPeer {
      $0.register(Methods.bytes) { _, _ in .value([1]) }
    } _: { peer, _ in
      let asText = RemoteMethod<[UInt8], String>(
        "test.Test", "Bytes", request: .bytes, response: .json)
      try await expectRejection(of: peer.call(asText, []))
    }
  }
}

@Suite struct CancellationTests {
  @Test func cancelledCall_cancelsTheHandlersPromise() async throws {
    let held = Held<String>()
    try await withPeer {
      $0.register(Methods.text) { _, _ in held.promise() }
    } _: { peer, _ in
      let reply = peer.call(Methods.text, "tea")
      try await expectFulfillment(of: held.started.reaches(1).promise)
      reply.cancel()
      try await expectCancellation(of: reply)
      try await expectFulfillment(of: held.cancelled.reaches(1).promise)
    }
  }

  @Test func clientThatDisconnects_cancelsTheHandlersPromise() async throws {
    let held = Held<String>()
    try await withPeer {
      $0.register(Methods.text) { _, _ in held.promise() }
    } _: { peer, _ in
      guard let port = peer.name.split(separator: ":").last.flatMap({ Int($0) }) else {
        throw Boom()
      }
      try await withClient(port: port) { other, connections in
        let reply = other.call(Methods.text, "tea")
        try await expectFulfillment(of: held.started.reaches(1).promise)
        connections.cancel()
        try await expectFulfillment(of: held.cancelled.reaches(1).promise)
        try await expectRejection(of: reply)
      }
    }
  }

  @Test func cancelledCall_leavesOtherCallsOfTheSamePromiseAlone() async throws {
    let held = Held<String>()
    let shared = held.promise()
    let calls = Recorder<Promise<Void>>()
    let cancelled = Recorder<Void>()
    try await withPeer {
      $0.register(Methods.text) { _, context in
        // gRPC wakes it after it has told the handler.
        calls.record(
          Promise {
            try await context.cancellation.cancelled
            cancelled.record(())
          })
        return shared
      }
    } _: { peer, _ in
      let first = peer.call(Methods.text, "tea")
      let second = peer.call(Methods.text, "tea")
      try await expectFulfillment(of: calls.reaches(2).promise)
      // So that it has a consumer in any case: a call may not have asked for it yet.
      let kept = shared.map(on: .immediate) { $0 }
      first.cancel()
      try await expectCancellation(of: first)
      try await expectFulfillment(of: cancelled.reaches(1).promise)
      #expect(held.cancelled.count == 0)
      try #require(held.started.events.first).fulfill("shared")
      try await expectFulfillment(of: second, with: "shared")
      try await expectFulfillment(of: kept, with: "shared")
      for call in calls.events { call.cancel() }
    }
  }

  /// With the handle of a call in place of a network: each order of the cancellation.
  @Test func cancellation_inEachOrder() async throws {
    let context = { (handle: ServerContext.RPCCancellationHandle) in
      ServerContext(
        descriptor: Methods.text.descriptor, remotePeer: "", localPeer: "", cancellation: handle)
    }
    let cancelled = RPCError(code: .cancelled, message: "The call was cancelled.")
    // Before the handler starts: it doesn't.
    await withServerContextRPCCancellationHandle { handle in
      handle.cancel()
      await #expect(throws: cancelled) {
        try await context(handle).serve { () -> Promise<Int> in
          Issue.record("The handler was called.")
          return .value(1)
        }
      }
    }
    // While it starts: gRPC tells it so with a lock held, where the promise's own code must not run.
    await withServerContextRPCCancellationHandle { handle in
      let seen = Recorder<Bool>()
      await #expect(throws: cancelled) {
        try await context(handle).serve {
          handle.cancel()
          return Promise<Int> { resolver in
            resolver.onCancel {
              seen.record(handle.isCancelled)
              _ = resolver
            }
          }
        }
      }
      #expect(seen.events == [true])
    }
    // Once it has ended: nothing more happens.
    let value = try await withServerContextRPCCancellationHandle { handle throws in
      defer { handle.cancel() }
      return try await context(handle).serve { .value(1) }
    }
    #expect(value == 1)
  }
}

@Suite struct DeadlineTests {
  /// Time limits to try, until a handler has started within one, however busy the machine is.
  private static let limits = [50, 500, 5_000, 50_000]

  @Test func callThatTakesTooLong_failsOnBothSides() async throws {
    let held = Held<String>()
    let told = Recorder<Bool>()
    try await withPeer {
      $0.register(Methods.text) { _, _ in
        told.record(CallDeadline.current != nil)
        return held.promise()
      }
    } _: { peer, _ in
      for limit in Self.limits where held.started.count == 0 {
        let reply = peer.call(Methods.text, "tea", within: .milliseconds(limit))
        try await expectRPCError(of: reply, .deadlineExceeded, containing: peer.name)
      }
      try await expectFulfillment(of: held.cancelled.reaches(1).promise)
      #expect(told.events.allSatisfy { $0 })
    }
  }

  @Test func server_endsACallAtItsDeadline_byItself() async throws {
    let held = Held<String>()
    try await withPeer {
      $0.register(Methods.text) { _, _ in held.promise() }
    } _: { peer, _ in
      for limit in Self.limits where held.started.count == 0 {
        // A client that tells its time limit and doesn't keep it.
        let reply = peer.call(Methods.text, "tea", metadata: ["grpc-timeout": "\(limit)m"])
        try await expectRPCError(of: reply, .cancelled)
      }
      try await expectFulfillment(of: held.cancelled.reaches(1).promise)
    }
  }

  @Test func handler_endsAfterItsDeadline_evenIfTheCallIsNotCancelled() async throws {
    let held = Held<String>()
    let context = ServerContext(
      descriptor: Methods.text.descriptor, remotePeer: "a", localPeer: "b", cancellation: .init())
    let response = Promise<String> {
      try await CallDeadline.$current.withValue(.now - .seconds(2)) {
        try await context.serve { held.promise() }
      }
    }
    try await expectRPCError(of: response, .deadlineExceeded)
    #expect(held.cancelled.count == 1)
  }

  @Test func deadline_followsTheRequest() async throws {
    TaskLocals.propagateCallDeadline()
    let (ready, resolver) = Promise<TestPeer>.withResolvers()
    try await withPeer {
      $0.register(Methods.count) { hops, _ in
        guard let deadline = CallDeadline.current else { return .value(-1) }
        let left = Int(ContinuousClock.now.duration(to: deadline).components.seconds)
        if hops == 0 { return .value(left) }
        // The next call has a longer limit of its own, and is made in a handler on a queue.
        return ready.then(on: .global) { peer in
          peer.call(Methods.count, hops - 1, within: .seconds(100_000))
        }
      }
    } _: { peer, _ in
      resolver.fulfill(peer)
      let left = try await expectFulfillment(of: peer.call(Methods.count, 3, within: .seconds(600)))
      #expect((1...600).contains(left))
      let bound = CallDeadline.$current.withValue(.now + .seconds(300)) {
        peer.call(Methods.count, 2)
      }
      #expect((1...300).contains(try await expectFulfillment(of: bound)))
      try await expectFulfillment(of: peer.call(Methods.count, 2), with: -1)
    }
  }

  @Test func deadlineThatHasPassed_makesNoCall() async throws {
    try await withPeer { _ in
    } _: { peer, _ in
      let late = CallDeadline.$current.withValue(.now - .seconds(1)) {
        peer.call(Methods.text, "tea")
      }
      try await expectRPCError(of: late, .deadlineExceeded, containing: peer.name)
      try await expectRPCError(
        of: peer.call(Methods.text, "tea", within: .zero), .deadlineExceeded)
    }
  }
}

@Suite struct DeadPeerTests {
  @Test func serverThatDoesNotListen_isNamed() async throws {
    // Nothing listens there.
    try await withClient(port: 1) { peer, _ in
      let reply = peer.call(Methods.text, "tea")
      try await expectRPCError(of: reply, .unavailable, containing: "127.0.0.1:1 is unavailable")
      try await expectRPCError(of: reply, .unavailable, containing: "refused")
      try await expectRPCError(
        of: reply, .unavailable, containing: "Make sure that the server runs")
    }
  }

  @Test func serverThatGoesAway_isNamed() async throws {
    let held = Held<String>()
    try await withPeer {
      $0.register(Methods.text) { _, _ in held.promise() }
    } _: { peer, server in
      let reply = peer.call(Methods.text, "tea")
      try await expectFulfillment(of: held.started.reaches(1).promise)
      server.stop()
      try await expectFulfillment(of: held.cancelled.reaches(1).promise)
      try await expectRPCError(
        of: reply, .unavailable,
        containing: "\(peer.name) is unavailable: Stream unexpectedly closed")
    }
  }
}
