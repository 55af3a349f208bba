import Foundation
import Pledge
import PledgeFoundation
import PledgeTesting
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension FoundationTests {
  @Suite struct Streaming {
    let server: LoopbackServer
    let session = URLSession(configuration: .ephemeral)
    let received = Guarded(Data())
    let calls = CallCounter()

    init() throws { server = try LoopbackServer() }

    private func stream(
      _ path: String, acceptsAnyStatus: Bool = false, progress: Progress? = nil
    ) throws -> Promise<URLResponse> {
      session.stream(
        try server.url(path), acceptsAnyStatus: acceptsAnyStatus, progress: progress
      ) { [received, calls] data in
        calls.call()
        received.withLock { $0.append(data) }
      }
    }

    private var receivedCount: Int { received.withLock { $0.count } }

    @Test func stream_handsOnTheWholeBodyInPieces() async throws {
      let response = try await stream("/bytes/5000000").value
      #expect((response as? HTTPURLResponse)?.statusCode == 200)
      #expect(received.withLock { $0 } == Data(repeating: 0x78, count: 5_000_000))
      #expect(calls.count > 1)
    }

    @Test func stream_whileBytesArrive_handsThemOn() async throws {
      let progress = Progress(totalUnitCount: -1)
      let promise = try stream("/steps/2", progress: progress)
      server.step()
      try await waitUntil { receivedCount == 1000 && progress.completedUnitCount == 1000 }
      #expect(promise.isPending)
      server.step()
      _ = try await promise.value
      #expect(receivedCount == 2000)
      #expect(progress.isFinished && progress.completedUnitCount == 2000)
    }

    @Test func stream_whenStatusDoesNotTellOfSuccess_handsOnNothing() async throws {
      let promise = try stream("/status/404")
      let error = await #expect(throws: HTTPStatusError.self) { try await promise.value }
      #expect(error?.status == 404)
      #expect(error?.body == Data("status 404".utf8))
      #expect(calls.count == 0)
    }

    @Test func stream_acceptingAnyStatus_handsOnTheBody() async throws {
      _ = try await stream("/status/404", acceptsAnyStatus: true).value
      #expect(received.withLock { $0 } == Data("status 404".utf8))
    }

    @Test func stream_whenTheBodyIsCutOff_rejects() async throws {
      let promise = try stream("/truncated")
      await #expect(throws: URLError.self) { try await promise.value }
      #expect(receivedCount == 10)
    }

    @Test func stream_whenReceiveThrows_rejectsAndHangsUp() async throws {
      let promise = session.stream(try server.url("/slow")) { [calls] _ in
        calls.call()
        throw Boom()
      }
      await #expect(throws: Boom.self) { try await promise.value }
      await server.next(.hungUp("/slow")).value
      #expect(calls.count == 1)
    }

    @Test func cancel_whileBytesArrive_hangsUp() async throws {
      let promise = try stream("/slow")
      try await waitUntil { receivedCount == 10 }
      promise.cancel()
      await #expect(throws: CancellationError.self) { try await promise.value }
      await server.next(.hungUp("/slow")).value
      #expect(calls.count == 1)
    }

    @Test(arguments: ["/ok", "/status/500", "/truncated", "/slow", "throws"])
    func receiver_isReleased(path: String) async throws {
      let lifetimes = LifetimeTracker()
      let promise = session.stream(try server.url(path == "throws" ? "/ok" : path)) {
        [token = lifetimes.track("receiver"), received] data in
        withExtendedLifetime(token) { received.withLock { $0.append(data) } }
        if path == "throws" { throw Boom() }
      }
      if path == "/slow" {
        try await waitUntil { receivedCount > 0 }
        promise.cancel()
      }
      _ = await promise.result
      try await lifetimes.expectNoneAlive()
    }
  }
}
