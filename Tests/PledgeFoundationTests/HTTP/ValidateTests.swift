extension FoundationTests {
  @Suite struct Validating {
    let server: TestServer
    let session = URLSession(configuration: .ephemeral)

    init() throws { server = try TestServer() }

    @Test(arguments: [200, 201, 299])
    func validate_whenStatusTellsOfSuccess_passes(status: Int) async throws {
      let (data, _) = try await session.load(server.url("/status/\(status)")).validate().value
      #expect(data == Data("status \(status)".utf8))
    }

    @Test(arguments: [300, 400, 404, 418, 500, 503])
    func validate_otherwise_rejectsWithAllThereIsToKnow(status: Int) async throws {
      let promise = session.load(try server.url("/status/\(status)?after=120")).validate()
      let error = await #expect(throws: HTTPStatusError.self) { try await promise.value }
      #expect(error?.status == status)
      #expect(error?.url == (try server.url("/status/\(status)?after=120")))
      #expect(error?.headers["Retry-After"] == "120")
      #expect(error?.retryAfter == .seconds(120))
      #expect(error?.body == Data("status \(status)".utf8))
      #expect(error?.description.contains("\(status)") == true)
    }

    @Test func validate_ofFoundationsOwnAnswer_rejects() async throws {
      let session = session
      let url = try server.url("/status/404")
      let promise = Promise { try await session.data(from: url) }.validate()
      let error = await #expect(throws: HTTPStatusError.self) { try await promise.value }
      #expect(error?.status == 404)
      #expect(error?.retryAfter == nil)
    }

    @Test func validate_whenNotHTTP_passes() async throws {
      let url = try #require(URL(string: "data:,x"))
      let response = URLResponse(
        url: url, mimeType: nil, expectedContentLength: 0, textEncodingName: nil)
      let promise = Promise<(data: Data, response: URLResponse)>.value((Data(), response))
      #expect(try await promise.validate().value.response === response)
    }

    @Test func validate_keepsTheError() async throws {
      let promise = Promise<(data: Data, response: URLResponse)>.rejected(Boom()).validate()
      await #expect(throws: Boom()) { try await promise.value }
    }

    @Test(arguments: [
      ("0", Duration.zero), ("7", .seconds(7)), (" 7 ", .seconds(7)),
      ("Fri, 01 Jan 2100 00:01:40 GMT", .seconds(100)), ("Friday, 01-Jan-00 00:01:40 GMT", nil),
      ("Fri Jan  1 00:01:40 2100", .seconds(100)), ("Thu, 01 Jan 1970 00:00:00 GMT", .zero),
      ("-7", nil), ("7.5", nil), ("soon", nil), ("", nil),
      ("99999999999999999999", .seconds(Int64.max)),
    ])
    func retryAfter_isParsed(text: String, expected: Duration?) throws {
      let url = try server.url("/")
      let response = try #require(
        HTTPURLResponse(
          url: url, statusCode: 503, httpVersion: nil,
          headerFields: ["Retry-After": text, "Date": "Fri, 01 Jan 2100 00:00:00 GMT"]))
      let error = HTTPStatusError(response)
      if text.hasPrefix("Friday,") {
        // The year has two digits, and the formatter chooses the century.
        #expect(error.retryAfter != nil)
      } else {
        #expect(error.retryAfter == expected)
      }
    }

    private func busy(_ retryAfter: String) throws -> HTTPStatusError {
      HTTPStatusError(
        try #require(
          HTTPURLResponse(
            url: try server.url("/"), statusCode: 503, httpVersion: nil,
            headerFields: ["Retry-After": retryAfter])))
    }

    @Test func policy_honorsRetryAfterUpToTheLimit() throws {
      let policy = RetryPolicy.fixed(attempts: 3).honoringRetryAfter(limit: .seconds(60))
      #expect(policy.requestedDelay(try busy("5")) == .seconds(5))
      #expect(policy.requestedDelay(try busy("3600")) == .seconds(60))
      #expect(policy.requestedDelay(Boom()) == nil)
    }

    @Test(arguments: [(["50", nil, "5"], Duration.seconds(5)), ([nil, nil], nil)])
    func policy_ofSeveralMirrors_waitsForTheFirst(waits: [String?], delay: Duration?) async throws {
      let mirrors = try waits.map { wait in
        Promise<Int>.rejected(try wait.map { try busy($0) } ?? Boom())
      }
      let error = await #expect(throws: AggregateError.self) {
        try await Promise.any(mirrors).value
      }
      let policy = RetryPolicy.fixed(attempts: 3).honoringRetryAfter()
      #expect(policy.requestedDelay(try #require(error)) == delay)
    }

    @Test func policy_ofNestedRetries_findsTheWaitOfTheLastError() async throws {
      let busy = try busy("7")
      let inner = Promise<Int>.retry(.fixed(attempts: 1)) { .rejected(busy) }
      let error = await #expect(throws: HTTPStatusError.self) { try await inner.value }
      let policy = RetryPolicy.fixed(attempts: 3).honoringRetryAfter()
      #expect(policy.requestedDelay(try #require(error)) == .seconds(7))
    }

    @Test(arguments: [
      (408, true), (425, true), (429, true), (500, true), (502, true), (503, true), (504, true),
      (301, false), (400, false), (401, false), (403, false), (404, false), (410, false),
      (416, false),
    ])
    func status_isTransientOrNot(status: Int, isTransient: Bool) {
      let error = HTTPStatusError(status: status, url: nil)
      #expect(RetryPolicy.isTransient(error) == isTransient)
    }

    @Test func otherErrors_areTransientOrNot() async throws {
      #expect(RetryPolicy.isTransient(URLError(.networkConnectionLost)))
      #expect(RetryPolicy.isTransient(URLError(.cannotConnectToHost)))
      #expect(!RetryPolicy.isTransient(URLError(.badURL)))
      #expect(!RetryPolicy.isTransient(URLError(.serverCertificateUntrusted)))
      #expect(RetryPolicy.isTransient(TimeoutError(duration: .seconds(1))))
      #expect(RetryPolicy.isTransient(POSIXError(.ECONNREFUSED)))
      #expect(!RetryPolicy.isTransient(POSIXError(.ENOSPC)))
      #expect(!RetryPolicy.isTransient(Boom()))
      let mirrors: [Promise<Int>] = [
        .rejected(HTTPStatusError(status: 404, url: nil)),
        .rejected(HTTPStatusError(status: 503, url: nil)),
      ]
      let error = await #expect(throws: AggregateError.self) {
        try await Promise.any(mirrors).value
      }
      #expect(RetryPolicy.isTransient(try #require(error)))
    }

    @Test func deeplyNestedErrors_areTransientOrNot_onASmallStack() async {
      await #expect(processExitsWith: .success) {
        let busy = HTTPStatusError(status: 503, url: nil, headers: ["Retry-After": "7"])
        var (once, any) = (Promise<Int>.rejected(busy), Promise<Int>.rejected(busy))
        for _ in 0..<100_000 {
          once = Promise.retry(on: .immediate, .fixed(attempts: 1)) { [once] in once }
          any = Promise.any([any])
        }
        let policy = RetryPolicy.fixed(attempts: 3).honoringRetryAfter()
        for promise in [once, any] {
          guard case .failure(let error)? = promise.currentResult else { fatalError() }
          precondition(RetryPolicy.isTransient(error))
          precondition(policy.requestedDelay(error) == .seconds(7))
          promise.ignoreErrors()
        }
      }
    }

    @Test func statusError_ofAnotherClient_readsTheHeadersInAnyCase() throws {
      let error = HTTPStatusError(status: 503, url: nil, headers: ["retry-after": "3"])
      #expect(error.retryAfter == .seconds(3))
    }

    @Test func retry_waitsAsTheServerAsks() async throws {
      let session = session
      let url = try server.url("/status/503?after=0")
      let policy = RetryPolicy.fixed(attempts: 3, delay: .seconds(1000)).honoringRetryAfter()
      let asked = CallCounter()
      let promise = Promise.retry(policy) {
        asked.call()
        return session.load(url).validate()
      }
      await #expect(throws: HTTPStatusError.self) { try await promise.value }
      #expect(asked.count == 3)
    }
  }
}
