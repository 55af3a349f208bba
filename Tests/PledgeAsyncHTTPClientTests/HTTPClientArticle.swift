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
        let file = File()
        let large = try HTTPClient.Request(url: "\(server)/size/300000")
        let (page, copied) = Self.requests(client, server, large, file)
        try await expectFulfillment(of: page, with: "hello")
        try await expectFulfillment(of: copied)
        #expect(file.parts.events.map(\.readableBytes).reduce(0, +) == 300_000)
        let missing = Self.requests(client, server, try .init(url: "\(server)/status/404"), file)
        try await expectFulfillment(of: missing.0)
        try await expectRejection(of: missing.1, with: UnexpectedStatus.self)
      }
    }

    private static func requests(
      _ client: HTTPClient, _ server: String, _ request: HTTPClient.Request, _ file: File
    ) -> (Promise<String>, Promise<HTTPResponseHead>) {
      let page = client.load("\(server)/hello", upTo: 1 << 20)
        .map { response in response.body.map { body in String(buffer: body) } ?? "" }

      let copied = client.stream(
        request,
        accepting: { head in if head.status != .ok { throw UnexpectedStatus(head.status) } },
        to: { part in file.write(part) })

      return (page, copied)
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
