import FetchSupport
import Foundation
import Testing
import UnreliableServer

/// Bytes that have already arrived aren't downloaded again.
@Suite(.serialized) struct ResumeTests {
  /// Runs `body` with a folder, and a server whose files arrive slowly.
  private func withSlowServer(
    fileCount: Int = 1, size: Int = 8_000_000, pause: Duration = .milliseconds(20),
    _ body: (_ folder: URL, _ server: LoopbackServer) async throws -> Void
  ) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      component: "fetch-resume-\(UUID().uuidString)", directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var configuration = Configuration(
      seed: 9, fileCount: fileCount, sizes: size...size, mirrorCount: 1,
      script: Script { _ in .slow })
    configuration.slowPause = pause
    let server = try await LoopbackServer.start(configuration)
    try await body(folder, server)
    await server.stop()
  }

  private func path(_ folder: URL) -> String { folder.path(percentEncoded: false) }

  /// Waits until a record of the received bytes exists.
  private func recordAppears(_ folder: URL, _ fetch: FetchProcess) async throws {
    let isThere = {
      try FileManager.default.contentsOfDirectory(atPath: path(folder))
        .contains { $0.hasSuffix(".part.json") }
    }
    while try !isThere(), fetch.isRunning { try await Task.sleep(for: .milliseconds(5)) }
  }

  @Test func killed_goesOnWhereItStopped() async throws {
    try await withSlowServer { folder, server in
      let arguments = ["\(server.files[0].urls[0])", "--directory", path(folder), "--quiet"]
      let first = try FetchProcess(arguments, in: folder)
      try await recordAppears(folder, first)
      first.kill()
      #expect(try await first.ending().status == SIGKILL)
      let ending = try await FetchProcess(arguments, in: folder).ending()
      #expect(ending.status == 0, "\(ending.output)")
      #expect(server.tally.requests == 2 && server.tally.partialAnswers == 1)
      let file = folder.appending(component: server.files[0].name)
      #expect(
        try Checksum(ofFileAt: file.path(percentEncoded: false)).hex == server.files[0].sha256)
      let names = try FileManager.default.contentsOfDirectory(atPath: path(folder))
      #expect(names.filter(PartialFile.isPartialName).isEmpty)
    }
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
  func signal_endsItTidily(signal: Int32) async throws {
    try await withSlowServer { folder, server in
      let arguments = ["\(server.files[0].urls[0])", "--directory", path(folder)]
      let fetch = try FetchProcess(arguments, in: folder)
      try await recordAppears(folder, fetch)
      fetch.interrupt(signal)
      let ending = try await fetch.ending()
      #expect(ending.status == 128 + signal)
      #expect(ending.output.contains("1 partial file was kept; run the same command"))
      // The progress ends with a line break.
      #expect(ending.output.hasSuffix("\n"))
      let again = try await FetchProcess(arguments, in: folder).ending()
      #expect(again.status == 0 && server.tally.partialAnswers == 1)
    }
  }

  @Test func deadline_keepsWhatCanBeContinued() async throws {
    try await withSlowServer { folder, server in
      let ending = try await FetchProcess(
        ["\(server.files[0].urls[0])", "--directory", path(folder), "--deadline", "2"], in: folder
      ).ending()
      #expect(ending.status == 1)
      #expect(ending.output.contains("not finished within 2.0 s; 1 partial file was kept"))
    }
  }

  @Test func segments_comeOverSeveralConnections() async throws {
    try await withSlowServer(size: 20_000_000, pause: .milliseconds(20)) { folder, server in
      let ending = try await FetchProcess(
        ["\(server.files[0].urls[0])", "--directory", path(folder), "--split", "3", "--quiet"],
        in: folder
      ).ending()
      #expect(ending.status == 0, "\(ending.output)")
      #expect(server.tally.requests == 3 && server.tally.partialAnswers == 2)
      let file = folder.appending(component: server.files[0].name)
      #expect(
        try Checksum(ofFileAt: file.path(percentEncoded: false)).hex == server.files[0].sha256)
    }
  }

  @Test func existingFile_isReplaced_unlessTheUserSaysOtherwise() async throws {
    try await withSlowServer(size: 1000, pause: .zero) { folder, server in
      let arguments = ["\(server.files[0].urls[0])", "--directory", path(folder), "--quiet"]
      let file = folder.appending(component: server.files[0].name)
      try Data("mine".utf8).write(to: file)
      #expect(
        try await FetchProcess(arguments + ["--no-clobber"], in: folder).ending().status == 0)
      #expect(try Data(contentsOf: file) == Data("mine".utf8))
      #expect(server.tally.requests == 0)
      #expect(try await FetchProcess(arguments, in: folder).ending().status == 0)
      #expect(
        try Checksum(ofFileAt: file.path(percentEncoded: false)).hex == server.files[0].sha256)
    }
  }

  @Test func folderWithTheName_isAnErrorWithNoClobber() async throws {
    try await withSlowServer(size: 1000, pause: .zero) { folder, server in
      try FileManager.default.createDirectory(
        at: folder.appending(component: server.files[0].name), withIntermediateDirectories: false)
      let arguments = ["\(server.files[0].urls[0])", "--directory", path(folder), "--quiet"]
      let ending = try await FetchProcess(arguments + ["--no-clobber"], in: folder).ending()
      #expect(ending.status == 1)
      #expect(ending.output.contains("Is a directory"), "\(ending.output)")
    }
  }
}
