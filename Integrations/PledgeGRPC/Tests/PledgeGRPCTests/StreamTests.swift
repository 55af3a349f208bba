import GRPCCore
import NIOCore
import Pledge
import PledgeGRPC
import PledgeTesting
import Testing

/// Notes when a stream has no room for more.
private final class RoomWatcher: ChannelOutboundHandler, Sendable {
  typealias OutboundIn = Any
  typealias OutboundOut = Any

  let blocked: Recorder<Void>

  init(_ blocked: Recorder<Void>) { self.blocked = blocked }
}

extension RoomWatcher: ChannelInboundHandler {
  typealias InboundIn = Any

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if !context.channel.isWritable { blocked.record(()) }
    context.fireChannelWritabilityChanged()
  }
}

@Suite struct StreamTests {
  @Test func responses_arriveInOrder_oneAtATime() async throws {
    try await withPeer {
      $0.registerStream(
        Methods.count,
        writing: { count, responses, _ in
          Promise().reduce(0..<count) { _, i in responses.send(i) }
        })
    } _: { peer, _ in
      let seen = Recorder<Int>()
      let begun = CallCounter()
      let done = CallCounter()
      let all = peer.stream(Methods.count, 200) { number in
        #expect(begun.call() == done.count + 1)
        seen.record(number)
        return Promise.value(()).map(on: .global) { _ = done.call() }
      }
      try await expectFulfillment(of: all)
      #expect(seen.events == Array(0..<200))
      #expect(done.count == 200)
    }
  }

  @Test func slowReceiver_slowsDownTheServer() async throws {
    let blocked = Recorder<Void>()
    let loops = Recorder<any EventLoop>()
    let sent = CallCounter()
    let total = 1200
    try await withPeer {
      $0.registerStream(
        Methods.blocks,
        writing: { count, responses, _ in
          Promise().reduce(0..<count) { _, _ in
            responses.send([UInt8](repeating: 1, count: 1 << 16)).then(on: .immediate) {
              sent.call()
              // The channel notices that it is full when its loop has the message. Until then, gRPC
              // takes more of them, and a loop that is busy doesn't have it soon.
              let loop = loops.events[0]
              return Promise { resolver in loop.execute { resolver.fulfill() } }
            }
          }
        })
    } configure: { config in
      config.channelDebuggingCallbacks.onAcceptHTTP2Stream = { channel in
        channel.eventLoop.makeCompletedFuture {
          loops.record(channel.eventLoop)
          try channel.pipeline.syncOperations.addHandler(RoomWatcher(blocked), position: .first)
        }
      }
    } _: { peer, _ in
      let received = Recorder<Int>()
      let (gate, resolver) = Promise<Void>.withResolvers()
      let all = peer.stream(Methods.blocks, total) { block in
        received.record(block.count)
        return gate
      }
      try await expectFulfillment(of: received.reaches(1).promise)
      try await expectFulfillment(of: blocked.reaches(1).promise)
      // The server waits, and the receiver has had one message.
      #expect(received.count == 1)
      #expect(sent.count < total / 2)
      try expectPending(all)
      resolver.fulfill()
      try await expectFulfillment(of: all)
      #expect(received.events.reduce(0, +) == total << 16)
    }
  }

  @Test func errorOfTheReceiver_cancelsTheCall() async throws {
    let held = Held<Void>()
    try await withPeer {
      $0.registerStream(
        Methods.count,
        writing: { count, responses, _ in responses.send(count).then { held.promise() } })
    } _: { peer, _ in
      try await expectRejection(
        of: peer.stream(Methods.count, 1) { _ in throw Boom() }, with: Boom())
      try await expectFulfillment(of: held.cancelled.reaches(1).promise)
      let rejected = peer.stream(Methods.count, 1) { _ in
        Promise.value(()).map(on: .global) { throw Boom() }
      }
      try await expectRejection(of: rejected, with: Boom())
      try await expectFulfillment(of: held.cancelled.reaches(2).promise)
    }
  }

  @Test func cancelledStream_cancelsBothSides() async throws {
    let held = Held<Void>()
    let receiving = Held<Void>()
    try await withPeer {
      $0.registerStream(
        Methods.count,
        writing: { count, responses, _ in responses.send(count).then { held.promise() } })
    } _: { peer, _ in
      let all = peer.stream(Methods.count, 1) { _ in receiving.promise() }
      try await expectFulfillment(of: receiving.started.reaches(1).promise)
      try await expectFulfillment(of: held.started.reaches(1).promise)
      all.cancel()
      try await expectCancellation(of: all)
      try await expectFulfillment(of: receiving.cancelled.reaches(1).promise)
      try await expectFulfillment(of: held.cancelled.reaches(1).promise)
    }
  }

  @Test func errorOfAHandlerThatStreams_comesAfterItsResponses() async throws {
    try await withPeer {
      $0.registerStream(
        Methods.count,
        writing: { count, responses, _ in
          responses.send(count).map { throw RPCError(code: .dataLoss, message: "spilt") }
        })
    } _: { peer, _ in
      let seen = Recorder<Int>()
      let all = peer.stream(Methods.count, 7) { number in
        seen.record(number)
        return .value(())
      }
      try await expectRPCError(of: all, .dataLoss, containing: "spilt")
      #expect(seen.events == [7])
    }
  }
}

@Suite struct RequestStreamTests {
  @Test func requests_areSentInOrder_oneAtATime() async throws {
    let begun = CallCounter()
    let done = CallCounter()
    try await withPeer {
      $0.registerStream(
        Methods.count,
        reading: { numbers, _ in
          let seen = Recorder<Int>()
          return numbers.forEach { number in
            #expect(begun.call() == done.count + 1)
            seen.record(number)
            return Promise.value(()).map(on: .global) { _ = done.call() }
          }
          .map { seen.events == Array(0..<200) ? seen.count : -1 }
        })
    } _: { peer, _ in
      let counted = peer.call(
        Methods.count,
        writing: { requests in Promise().reduce(0..<200) { _, i in requests.send(i) } })
      try await expectFulfillment(of: counted, with: 200)
    }
  }

  @Test func errorOfTheWriter_rejects_andIsNoEndForTheServer() async throws {
    let seen = Recorder<Int>()
    let ends = Recorder<Bool>()
    try await withPeer {
      $0.registerStream(
        Methods.count,
        reading: { numbers, _ in
          numbers.forEach { number in
            seen.record(number)
            return .value(())
          }
          .watch(on: .immediate) { result in ends.record((try? result.get()) != nil) }
          .map { 1 }
        })
    } _: { peer, _ in
      // Once a request has arrived, so that the server has the call.
      let later = peer.call(
        Methods.count,
        writing: { requests in
          requests.send(1).then { seen.reaches(1).promise }.map { throw Boom() }
        })
      try await expectRejection(of: later, with: Boom())
      try await expectFulfillment(of: ends.reaches(1).promise)
      #expect(ends.events == [false])
      try await expectRejection(
        of: peer.call(Methods.count, writing: { _ in throw Boom() }), with: Boom())
      #expect(!ends.events.contains(true))
    }
  }

  @Test func callError_thatTheWriterRejectsWith_isTheErrorOfTheCall() async throws {
    let missing = RPCError(code: .notFound, message: "the source of the requests")
    try await withPeer {
      $0.registerStream(
        Methods.count, reading: { numbers, _ in numbers.forEach { _ in .value(()) }.map { 1 } })
    } _: { peer, _ in
      let forwarded = peer.call(
        Methods.count, writing: { requests in requests.send(1).map { throw missing } })
      try await expectRPCError(of: forwarded, .notFound, containing: "the source")
      let stopped = peer.call(
        Methods.count,
        writing: { requests in requests.send(1).map { throw CancellationError() } })
      try await expectCancellation(of: stopped)
    }
  }

  @Test func serverThatRejectsEarly_rejectsWithItsError() async throws {
    try await withPeer {
      $0.registerStream(
        Methods.blocks,
        reading: { _, _ in throw RPCError(code: .resourceExhausted, message: "too many") })
    } _: { peer, _ in
      let endless = peer.call(
        Methods.blocks,
        writing: { requests in Promise().reduce(0..<1_000_000) { _, i in requests.send(i) } })
      try await expectRPCError(of: endless, .resourceExhausted, containing: "too many")
    }
  }

  @Test func serverThatAnswersEarly_cancelsTheWriter() async throws {
    let held = Held<Void>()
    try await withPeer {
      $0.registerStream(
        Methods.count, reading: { _, _ in held.started.reaches(1).promise.map { 1 } })
    } _: { peer, _ in
      let early = peer.call(Methods.count, writing: { _ in held.promise() })
      try await expectFulfillment(of: early, with: 1)
      try await expectFulfillment(of: held.cancelled.reaches(1).promise)
    }
  }

  @Test func streamsInBothDirections() async throws {
    try await withPeer {
      $0.registerStream(
        Methods.count,
        readingAndWriting: { numbers, responses, _ in
          numbers.forEach { number in responses.send(number * 2) }
        })
    } _: { peer, _ in
      let seen = Recorder<Int>()
      let all = peer.stream(
        Methods.count,
        writing: { requests in
          // Each request waits for the response to the one before.
          Promise().reduce(1...50) { _, i in
            requests.send(i).then { seen.reaches(i).promise }
          }
        },
        to: { number in
          seen.record(number)
          return .value(())
        })
      try await expectFulfillment(of: all)
      #expect(seen.events == (1...50).map { $0 * 2 })
    }
  }

  @Test func cancelledStreams_cancelBothClosures_andTheHandler() async throws {
    let writing = Held<Void>()
    let handling = Held<Void>()
    try await withPeer {
      $0.registerStream(Methods.count, readingAndWriting: { _, _, _ in handling.promise() })
    } _: { peer, _ in
      let all = peer.stream(
        Methods.count, writing: { _ in writing.promise() }, to: { _ in .value(()) })
      try await expectFulfillment(of: writing.started.reaches(1).promise)
      try await expectFulfillment(of: handling.started.reaches(1).promise)
      all.cancel()
      try await expectCancellation(of: all)
      try await expectFulfillment(of: writing.cancelled.reaches(1).promise)
      try await expectFulfillment(of: handling.cancelled.reaches(1).promise)
    }
  }
}
