extension FoundationTests {
  @Suite struct Downloading {
    let server: TestServer
    let folder: TemporaryFolder
    let session = URLSession(configuration: .ephemeral)
    let old = Data("old".utf8)

    init() throws {
      server = try TestServer()
      folder = try TemporaryFolder()
    }

    @Test func download_makesTheFileAndNothingElse() async throws {
      let (file, response) = try await session.download(
        server.url("/bytes/5000000"), to: folder.file("big")
      ).value
      #expect(file == folder.file("big"))
      #expect(response.status == 200)
      #expect(try Data(contentsOf: file) == Data(repeating: 0x78, count: 5_000_000))
      #expect(try folder.names == ["big"])
    }

    @Test func download_replacesTheFile() async throws {
      _ = try folder.file("name", old)
      _ = try await session.download(server.url("/ok"), to: folder.file("name")).value
      #expect(try folder.data("name") == Data("hello".utf8))
    }

    @Test func download_ofNothing_makesAnEmptyFile() async throws {
      _ = try await session.download(server.url("/bytes/0"), to: folder.file("name")).value
      #expect(try folder.data("name").isEmpty)
    }

    @Test func download_whileItRuns_leavesTheOldFileInPlace() async throws {
      _ = try folder.file("name", old)
      let progress = Progress(totalUnitCount: -1)
      let promise = session.download(
        try server.url("/steps/2?chunked"), to: folder.file("name"), progress: progress)
      server.step()
      try await waitUntil { progress.completedUnitCount == 1000 }
      #expect(try folder.data("name") == old)
      #expect(progress.isIndeterminate)
      server.step()
      _ = try await promise.value
      #expect(try folder.data("name").count == 2000)
      #expect(progress.isFinished && progress.completedUnitCount == 2000)
    }

    @Test func download_whenStatusDoesNotTellOfSuccess_leavesTheOldFile() async throws {
      _ = try folder.file("name", old)
      let promise = session.download(try server.url("/status/404"), to: folder.file("name"))
      let error = try await expectRejection(of: promise, with: HTTPStatusError.self)
      #expect(error.status == 404 && error.body == Data("status 404".utf8))
      #expect(try folder.data("name") == old && folder.names == ["name"])
    }

    @Test func download_acceptingAnyStatus_storesTheBody() async throws {
      let request = URLRequest(url: try server.url("/status/404"))
      _ = try await session.download(request, to: folder.file("name"), acceptsAnyStatus: true).value
      #expect(try folder.data("name") == Data("status 404".utf8))
    }

    @Test func download_whenTheBodyIsCutOff_leavesNothing() async throws {
      let promise = session.download(try server.url("/truncated"), to: folder.file("name"))
      await #expect(throws: URLError.self) { try await promise.value }
      #expect(try folder.names.isEmpty)
    }

    @Test func download_whenTheFolderIsMissing_sendsNothing() async throws {
      let arrived = server.next(.arrived("/ok"))
      let promise = session.download(try server.url("/ok"), to: folder.file("none/name"))
      await #expect(throws: CocoaError.self) { try await promise.value }
      #expect(arrived.isPending)
    }

    @Test(arguments: [S_IFIFO, S_IFDIR])
    func download_ontoWhatIsNoRegularFile_leavesIt_andSendsNothing(kind: mode_t) async throws {
      let target = folder.file("name")
      let made = kind == S_IFIFO ? mkfifo(target.path, 0o600) : mkdir(target.path, 0o700)
      try #require(made == 0)
      let arrived = server.next(.arrived("/ok"))
      let promise = session.download(try server.url("/ok"), to: target)
      let error = await #expect(throws: PromiseError.self) { try await promise.value }
      #expect(error?.description.contains(target.path) == true)
      var status = stat()
      #expect(stat(target.path, &status) == 0 && status.st_mode & S_IFMT == kind)
      #expect(try folder.names == ["name"])
      #expect(arrived.isPending)
    }

    @Test func cancel_whileBytesArrive_leavesNothing() async throws {
      let progress = Progress(totalUnitCount: -1)
      let promise = session.download(
        try server.url("/slow"), to: folder.file("name"), progress: progress)
      try await waitUntil { progress.completedUnitCount == 10 }
      promise.cancel()
      #expect(try folder.names.isEmpty)
      await #expect(throws: CancellationError.self) { try await promise.value }
      await server.next(.hungUp("/slow")).value
      #expect(!progress.isFinished)
    }

    @Test func cancel_atOnce_leavesNothing() async throws {
      let promise = session.download(try server.url("/slow"), to: folder.file("name"))
      promise.cancel()
      #expect(try folder.names.isEmpty)
      await #expect(throws: CancellationError.self) { try await promise.value }
      try await waitUntil { server.openConnections == 0 }
    }

    @Test func cancel_atAnyMoment_eitherHasTheFileOrHasNot() async throws {
      for round in 0..<60 {
        let name = folder.file("name\(round)")
        let promise = session.download(try server.url("/ok"), to: name)
        await server.next(.arrived("/ok")).value
        for _ in 0..<(round * 3) { await Task.yield() }
        promise.cancel()
        let isThere = FileManager.default.fileExists(atPath: name.path)
        switch await promise.result {
        case .success: #expect(isThere)
        case .failure(let error):
          #expect(error is CancellationError)
          #expect(!isThere)
        }
      }
      #expect(try folder.names.allSatisfy { $0.hasPrefix("name") })
    }

    @Test func download_manyAtOnce_leavesNoDescriptorOpen() async throws {
      let progress = Progress(totalUnitCount: 30)
      let sockets = try openDescriptors("socket:")
      // Created before the first download: on Linux, Foundation can't add a child while others make
      // progress.
      let children = (0..<30).map { _ in
        Progress(totalUnitCount: 1, parent: progress, pendingUnitCount: 1)
      }
      let promises = try children.enumerated().map { index, child in
        session.download(
          try server.url("/bytes/100000"), to: folder.file("\(index)"), progress: child)
      }
      let files = try await Promise.all(promises).value.map(\.file)
      for file in files { #expect(try Data(contentsOf: file).count == 100_000) }
      #expect(try folder.names.count == 30)
      #expect(progress.fractionCompleted == 1)
      #expect(try openDescriptors(folder.url.path) == 0)
      try await waitUntil { try openDescriptors("socket:") <= sockets + 4 }
    }

    /// Sends pieces, each when the file contains the earlier ones.
    private final class PieceByPiece: URLProtocol {
      static let count = 200
      static let piece = Data(repeating: 0x78, count: 10_000)

      override class func canInit(with request: URLRequest) -> Bool { true }
      override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
      override func stopLoading() {}

      override func startLoading() {
        guard let client, let url = request.url else { return }
        let response = URLResponse(
          url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil)
        client.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
        for number in 1...Self.count {
          client.urlProtocol(self, didLoad: Self.piece)
          guard size(ofTheFileIn: url.path) == number * Self.piece.count else {
            return client.urlProtocol(self, didFailWithError: URLError(.cannotWriteToFile))
          }
        }
        client.urlProtocolDidFinishLoading(self)
      }

      private func size(ofTheFileIn folder: String) -> Int? {
        let manager = FileManager.default
        let name = try? manager.contentsOfDirectory(atPath: folder).first
        return name.flatMap { try? manager.attributesOfItem(atPath: "\(folder)/\($0)")[.size] }
          .flatMap { ($0 as? NSNumber)?.intValue }
      }
    }

    @Test func download_readsNoFurther_beforeAPieceIsWritten() async throws {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.protocolClasses = [PieceByPiece.self]
      let url = try #require(URL(string: "mock://host\(folder.url.path)"))
      let promise = URLSession(configuration: configuration)
        .download(url, to: folder.file("name")).map { $0.file }
      let file = try await expectFulfillment(of: promise)
      #expect(try Data(contentsOf: file).count == PieceByPiece.count * PieceByPiece.piece.count)
    }

    @Test func download_ontoAPrivateFile_keepsItPrivate() async throws {
      let file = try folder.file("secret", old)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
      _ = try await session.download(server.url("/ok"), to: file).value
      let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
      #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
      #expect(try Data(contentsOf: file) == Data("hello".utf8))
    }

    @Test func download_ontoALink_replacesWhatItPointsTo() async throws {
      _ = try folder.file("target", old)
      let link = folder.file("link")
      try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "target")
      _ = try await session.download(server.url("/ok"), to: link).value
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == "target")
      #expect(try folder.data("target") == Data("hello".utf8))
      #expect(try folder.names == ["link", "target"])
    }
  }
}
