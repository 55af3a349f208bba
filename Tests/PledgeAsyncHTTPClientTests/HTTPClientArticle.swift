#if AsyncHTTPClient
  import AsyncHTTPClient
  import NIOCore
  import NIOHTTP1
  import Pledge
  import PledgeAsyncHTTPClient
  import PledgeTesting
  import Testing

  /// The examples of the article on integrations that need an HTTP client, with a server on loopback.
  @Suite struct HTTPClientArticle {
    struct UnexpectedStatus: Error {
      init(_ status: HTTPResponseStatus) {}
    }

    /// A file that takes its time to write each part.
    final class File: Sendable {
      let parts = Recorder<ByteBuffer>()

      func write(_ part: ByteBuffer) -> Promise<Void> {
        Promise.value(part).map(on: .global) { self.parts.record($0) }
      }
    }

    @Test func requests() async throws {
      try await withServer { client, server, _ in
        let page = client.load("\(server)/hello", upTo: 1 << 20)
          .map { response in response.body.map { body in String(buffer: body) } ?? "" }

        try await expectFulfillment(of: page, with: "hello")
      }
    }

    @Test func streams() async throws {
      try await withServer { client, server, _ in
        func copy(_ request: HTTPClient.Request, _ file: File) -> Promise<HTTPResponseHead> {
          let copied = client.stream(
            request,
            accepting: { head in if head.status != .ok { throw UnexpectedStatus(head.status) } },
            to: { part in file.write(part) })

          return copied
        }
        let file = File()
        try await expectFulfillment(of: copy(try .init(url: "\(server)/size/300000"), file))
        #expect(file.parts.events.map(\.readableBytes).reduce(0, +) == 300_000)
        try await expectRejection(
          of: copy(try .init(url: "\(server)/status/404"), file), with: UnexpectedStatus.self)
      }
    }

    @Test func bodies() async throws {
      try await withServer { client, server, _ in
        var request = try HTTPClient.Request(url: "\(server)/echo", method: .POST)
        let header = ByteBuffer(string: "id,name\n")
        let rows = ByteBuffer(string: "7,Ada\n")

        request.body = .writing { body in
          body.send(header).then { body.send(rows) }
        }

        let response = try await expectFulfillment(of: client.load(request))
        #expect(response.body.map { String(buffer: $0) } == "id,name\n7,Ada\n")
      }
    }
  }
#endif
