#if AsyncHTTPClient
  import AsyncHTTPClient
  import NIOCore
  import NIOHTTP1
  import Pledge
  import PledgeAsyncHTTPClient
  import PledgeTesting
  import Testing

  /// The examples of the article on integrations that need an HTTP client.
  ///
  /// They are compiled, and not run, since they go to the network.
  private enum HTTPClientArticle {
    struct UnexpectedStatus: Error {
      init(_ status: HTTPResponseStatus) {}
    }

    struct File: Sendable {
      func write(_ part: ByteBuffer) -> Promise<Void> { .value(()) }
    }

    static func requests(
      _ client: HTTPClient, _ request: HTTPClient.Request, _ file: File
    ) -> [Promise<Void>] {
      let page = client.load("https://swift.org", upTo: 1 << 20)
        .map { response in response.body.map { body in String(buffer: body) } ?? "" }

      let copied = client.stream(
        request,
        accepting: { head in if head.status != .ok { throw UnexpectedStatus(head.status) } },
        to: { part in file.write(part) })

      return [page.asVoid(), copied.asVoid()]
    }

    static func bodies(
      _ request: inout HTTPClient.Request, _ header: ByteBuffer, _ rows: ByteBuffer
    ) {
      request.body = .writing { body in
        body.send(header).then { body.send(rows) }
      }
    }
  }
#endif
