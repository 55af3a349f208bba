extension FoundationTests {
  @Suite struct Loading {
    let server: TestServer
    let session = URLSession(configuration: .ephemeral)

    init() throws { server = try TestServer() }

    @Test func failedConnection_printsAsOneLine_withHostAndReason() async throws {
      // No server listens on port 1.
      let url = try #require(URL(string: "http://127.0.0.1:1/x?key=1"))
      let result = await session.load(url).result
      guard case .failure(let error as URLError) = result else {
        Issue.record("expected a URLError, found \(result)")
        return
      }
      #expect(error.code == .cannotConnectToHost)
      let text = "\(error)"
      #expect(text.hasPrefix("Request to 127.0.0.1:1 failed: "))
      #expect(text.hasSuffix("(URLError -1004)") && !text.contains("\n") && !text.contains("key=1"))
      #expect(text.contains(error.localizedDescription))
      #expect(RetryPolicy.isTransient(error))
    }

    @Test func handlerInPlace_canWaitForAnotherRequest() async throws {
      let other = try server.url("/ok")
      let promise = session.load(try server.url("/steps/1"))
      let text = promise.map(on: .immediate) { [session] _ in
        String(decoding: try session.load(other).wait().data, as: UTF8.self)
      }
      server.step()
      try await expectFulfillment(of: text, with: "hello")
    }

    @Test func load_inAChain_infersItsTypes() async throws {
      let text = try await URLSession.shared.load(server.url("/ok")).validate()
        .map { data, response in
          let status = response.status ?? 0
          return "\(status) \(String(decoding: data, as: UTF8.self))"
        }.value
      #expect(text == "200 hello")
    }

    @Test(arguments: [false, true])
    func load_request_sendsItAsItIs(withProgress: Bool) async throws {
      var request = try request("/echo", "PUT")
      request.httpBody = Data("body".utf8)
      request.setValue("text/x", forHTTPHeaderField: "Content-Type")
      let promise = session.load(request, progress: progress(withProgress))
      let (data, response) = try await promise.value
      #expect(data == Data("body".utf8))
      #expect(response.header("X-Method") == "PUT" && response.header("X-Type") == "text/x")
    }

    @Test(arguments: [false, true])
    func load_whenRedirected_follows(withProgress: Bool) async throws {
      let promise = session.load(try server.url("/redirect"), progress: progress(withProgress))
      let (data, response) = try await promise.value
      #expect(data == Data("hello".utf8))
      #expect(response.url?.path == "/ok")
    }

    @Test(arguments: ["/elsewhere", "/see-other"])
    func load_whenRedirectedToAnotherHost_doesNotSendCredentials(path: String) async throws {
      var request = try request(path)
      request.setValue("Bearer secret", forHTTPHeaderField: "Authorization")
      request.setValue("session=1", forHTTPHeaderField: "Cookie")
      let (_, response) = try await session.load(request).value
      let isOther = path == "/elsewhere"
      #expect(response.url?.host == (isOther ? "localhost" : "127.0.0.1"))
      #expect(response.header("X-Authorization") == (isOther ? "none" : "Bearer secret"))
      #expect(response.header("X-Cookie") == (isOther ? "none" : "session=1"))
    }

    @Test func load_whenTheRequestTimesOut_saysSo() async throws {
      var request = try request("/hang")
      request.timeoutInterval = 0.1
      let error = await #expect(throws: URLError.self) { try await session.load(request).value }
      #expect(error?.code == .timedOut)
      let text = error.map { "\($0)" } ?? ""
      #expect(text.hasPrefix("Request to 127.0.0.1:\(server.port) failed: The request timed out."))
    }

    @Test func load_whenTheSessionRefusesRedirects_doesNotFollow() async throws {
      let session = URLSession(
        configuration: .ephemeral, delegate: Redirecting { _ in nil }, delegateQueue: nil)
      defer { session.finishTasksAndInvalidate() }
      let promise = session.load(try server.url("/redirect"), progress: progress(true))
      #expect(try await promise.value.response.status == 302)
    }

    @Test(arguments: [false, true])
    func load_whenTheBodyIsCutOff_rejectsWithURLError(withProgress: Bool) async throws {
      let progress = progress(withProgress)
      let promise = session.load(try server.url("/truncated"), progress: progress)
      await #expect(throws: URLError.self) { try await promise.value }
      #expect(progress?.isFinished != true)
    }

    @Test(arguments: [false, true])
    func load_movesProgressAsBytesArrive(isLengthKnown: Bool) async throws {
      let progress = Progress(totalUnitCount: -1)
      let url = try server.url("/steps/3\(isLengthKnown ? "" : "?chunked")")
      let promise = session.load(url, progress: progress)
      for step in 1...3 {
        if !isLengthKnown { #expect(progress.isIndeterminate) }
        server.step()
        try await waitUntil { progress.completedUnitCount == Int64(step) * 1000 }
        if isLengthKnown { #expect(progress.totalUnitCount == 3000) }
      }
      #expect(try await promise.value.data.count == 3000)
      #expect(progress.isFinished && progress.totalUnitCount == 3000)
      #expect(progress.fractionCompleted == 1)
    }

    @Test func load_ofNothing_finishesProgress() async throws {
      let progress = Progress(totalUnitCount: -1)
      #expect(try await session.load(server.url("/bytes/0"), progress: progress).value.data.isEmpty)
      #expect(progress.isFinished && progress.fractionCompleted == 1)
    }

    private func request(_ path: String, _ method: String = "POST") throws -> URLRequest {
      var request = URLRequest(url: try server.url(path))
      request.httpMethod = method
      return request
    }

    @Test func upload_data_isEchoed() async throws {
      let body = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0) })
      let progress = Progress(totalUnitCount: -1)
      let promise = session.upload(body, with: try request("/echo", "PATCH"), progress: progress)
      let (data, response) = try await promise.validate().value
      #expect(data == body && response.header("X-Method") == "PATCH")
      #expect(progress.isFinished && progress.totalUnitCount == 300_000)
      #expect(try await session.upload(body, with: request("/echo")).value.data == body)
    }

    @Test func upload_file_isEchoed() async throws {
      let folder = try TemporaryFolder()
      let body = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0) })
      let file = try folder.file("body", body)
      let progress = Progress(totalUnitCount: -1)
      for progress in [nil, progress] {
        let promise = session.upload(fileAt: file, with: try request("/echo"), progress: progress)
        let (data, response) = try await promise.value
        #expect(data == body && response.header("X-Length") == "300000")
        #expect(response.header("X-Type") == "none" && response.header("X-Encoding") == "none")
      }
      #expect(progress.isFinished && progress.totalUnitCount == 300_000)
    }

    @Test(arguments: ["/hop/2/echo", "/see-other"])
    func upload_whenRedirected_sendsTheBodyAgainIfTheMethodStays(path: String) async throws {
      let folder = try TemporaryFolder()
      let body = Data(repeating: 7, count: 100_000)
      let file = try folder.file("body", body)
      let request = try request(path)
      for promise in [
        session.upload(fileAt: file, with: request), session.upload(body, with: request),
      ] {
        let (data, response) = try await promise.value
        let isSame = path != "/see-other"
        #expect(data == (isSame ? body : Data()))
        #expect(response.header("X-Method") == (isSame ? "POST" : "GET"))
        #expect(response.header("X-Length") == (isSame ? "100000" : "none"))
      }
    }

    @Test func load_whenRedirectedForEver_rejects() async throws {
      let error = await #expect(throws: URLError.self) {
        try await session.load(server.url("/hop/30/ok")).value
      }
      #expect(error?.code == .httpTooManyRedirects)
      #expect(try await session.load(server.url("/hop/20/ok")).value.data == Data("hello".utf8))
    }

    @Test func load_whenTheBodyIsCutOff_isRetried() async throws {
      let attempts = CallCounter()
      let url = try server.url("/truncated")
      let policy = RetryPolicy.fixed(attempts: 3, delay: .zero).retryingTransientErrors()
      let promise = Promise.retry(policy) { [session] in
        attempts.call()
        return session.load(url)
      }
      _ = try? await promise.value
      #expect(attempts.count == 3)
    }

    @Test func upload_whenTheFileIsMissing_rejects() async throws {
      let folder = try TemporaryFolder()
      let promise = session.upload(fileAt: folder.file("none"), with: try request("/echo"))
      await #expect(throws: (any Error).self) { try await promise.value }
    }

    @Test(arguments: [S_IFIFO, S_IFDIR])
    func upload_ofWhatIsNoRegularFile_sendsNothing(kind: mode_t) async throws {
      let folder = try TemporaryFolder()
      let target = folder.file("name")
      let made = kind == S_IFIFO ? mkfifo(target.path, 0o600) : mkdir(target.path, 0o700)
      try #require(made == 0)
      let arrived = server.next(.arrived("/echo"))
      let promise = session.upload(fileAt: target, with: try request("/echo"))
      let error = try await expectRejection(of: promise, with: PromiseError.self)
      #expect(error.description.contains(target.path))
      #expect(!RetryPolicy.isTransient(error))
      #expect(arrived.isPending)
    }

    @Test func upload_whenTheFileIsShorterThanItsLength_rejectsAtOnce() async throws {
      // The system states a length of 4096 for this file, but it has fewer bytes, as a file that
      // shrinks.
      let file = URL(fileURLWithPath: "/sys/devices/system/cpu/online")
      let promise = session.upload(fileAt: file, with: try request("/echo"))
      let error = try await expectRejection(of: promise, with: URLError.self)
      #expect(error.code == .requestBodyStreamExhausted)
      #expect("\(error)".contains("The file became shorter while it was sent."))
      #expect(!RetryPolicy.isTransient(error))
      try await waitUntil { server.openConnections == 0 }
    }

    @Test func load_roundsTheTimeLimitUpToWholeSeconds() async throws {
      final class Mock: URLProtocol {
        override class func canInit(with request: URLRequest) -> Bool { true }
        override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
        override func startLoading() {
          guard let url = request.url else { return }
          let response = URLResponse(
            url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil)
          client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
          client?.urlProtocol(self, didLoad: Data("\(request.timeoutInterval)".utf8))
          client?.urlProtocolDidFinishLoading(self)
        }
        override func stopLoading() {}
      }
      let configuration = URLSessionConfiguration.ephemeral
      configuration.protocolClasses = [Mock.self]
      let session = URLSession(configuration: configuration)
      for (limit, rounded) in [(0.5, "1.0"), (1.5, "2.0"), (3, "3.0")] {
        var request = try request("/ok")
        request.timeoutInterval = limit
        let data = try await session.load(request).value.data
        #expect(String(decoding: data, as: UTF8.self) == rounded)
      }
    }

    @Test func load_oneAfterTheOther_usesTheConnectionAgain() async throws {
      for _ in 0..<20 {
        #expect(try await session.load(server.url("/kept")).value.data == Data("hello".utf8))
      }
      #expect(server.acceptedConnections == 1)
    }

    @Test(arguments: ["/nowhere", "/to?"])
    func load_whenARedirectionSaysNotWhereTo_hasTheResponse(path: String) async throws {
      let progress = Progress(totalUnitCount: -1)
      let (_, response) = try await session.load(server.url(path), progress: progress).value
      #expect(response.status == 302)
      #expect(progress.isFinished)
      let received = Recorder<Data>()
      let stream = session.stream(try server.url(path)) { received.record($0) }
      let error = try await expectRejection(of: stream, with: HTTPStatusError.self)
      #expect(error.status == 302)
      #expect(received.events.isEmpty)
    }

    @Test func load_whenTheSchemeOfARedirectionIsUppercase_followsWithCredentials() async throws {
      let target = "HTTP://127.0.0.1:\(server.port)/echo?Key"
      var request = try request("/to?\(target)", "GET")
      request.setValue("Bearer secret", forHTTPHeaderField: "Authorization")
      let (_, response) = try await session.load(request).value
      #expect(response.header("X-Authorization") == "Bearer secret")
      #expect(response.url?.query == "Key")
    }

    private func streamed(_ path: String) throws -> URLRequest {
      var request = try request(path)
      request.httpBodyStream = InputStream(data: Data("body".utf8))
      return request
    }

    @Test func load_ofAStreamedBody_whenRedirected_rejectsIfItMustSendTheBodyAgain() async throws {
      #expect(try await session.load(streamed("/echo")).value.data == Data("body".utf8))
      let redirected = session.load(try streamed("/hop/1/echo"))
      let error = try await expectRejection(of: redirected, with: URLError.self)
      #expect(error.code == .requestBodyStreamExhausted)
      #expect("\(error)".contains("can't be sent again for a redirect"))
      #expect(!RetryPolicy.isTransient(error))
      let (data, response) = try await session.load(streamed("/see-other")).value
      #expect(data.isEmpty && response.header("X-Method") == "GET")
    }

    @Test func load_ofAStreamedBody_whenRedirected_sendsTheDelegatesNewStream() async throws {
      final class Streaming: NSObject, URLSessionTaskDelegate, Sendable {
        func urlSession(
          _ session: URLSession, task: URLSessionTask,
          needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
        ) { completionHandler(InputStream(data: Data("again".utf8))) }
      }
      let session = URLSession(configuration: .ephemeral, delegate: Streaming(), delegateQueue: nil)
      defer { session.finishTasksAndInvalidate() }
      let promise = session.load(try streamed("/hop/2/echo"))
      #expect(try await promise.value.data == Data("again".utf8))
    }

    @Test func upload_withTheDefaultMethod_isPost() async throws {
      let folder = try TemporaryFolder()
      let body = Data("body".utf8)
      let file = try folder.file("body", body)
      let request = URLRequest(url: try server.url("/hop/1/echo"))
      for promise in [
        session.upload(body, with: request), session.upload(fileAt: file, with: request),
      ] {
        let (data, response) = try await promise.value
        #expect(data == body && response.header("X-Method") == "POST")
      }
    }

    @Test func load_whenTheServerAsksForAPassword_hasItsAnswer() async throws {
      let promise = session.load(try server.url("/challenge")).timeout(after: .seconds(20))
      let (data, response) = try await promise.value
      #expect(response.status == 401 && data == Data("who?".utf8))
    }

    @Test func delegate_isCalledOnItsOwnQueue() async throws {
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = 1
      queue.name = "the user's"
      let name = Recorder<String?>()
      let delegate = Redirecting {
        name.record(OperationQueue.current?.name)
        return $0
      }
      let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: queue)
      _ = try await session.load(server.url("/redirect")).value
      #expect(name.events == ["the user's"])
    }
  }
}
