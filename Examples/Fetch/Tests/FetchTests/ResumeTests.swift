import FetchSupport
import FetchTestSupport
import Foundation
import Testing

/// Bytes that have already arrived aren't downloaded again.
@Suite(.serialized) struct ResumeTests {
  private let folder: ScratchFolder

  init() throws { folder = try ScratchFolder() }

  /// Runs `body` with a server whose file arrives slowly.
  private func withSlowServer(
    size: Int = 8_000_000, pause: Duration = .milliseconds(20),
    _ body: (_ server: UnreliableServer, _ arguments: [String]) async throws -> Void
  ) async throws {
    let server = try await UnreliableServer(
      UnreliableServer.Configuration(
        sizes: size...size, mirrorCount: 1, faults: [.slow], share: 1, pause: pause))
    try await body(server, [server.files[0].urls[0], "--quiet"])
    await server.stop()
  }

  /// Whether the folder contains the file of the server, and nothing else.
  private func isComplete(_ server: UnreliableServer) throws -> Bool {
    let file = server.files[0]
    return try folder.names == [file.name]
      && Checksum(ofFileAt: folder.path(file.name)) == file.checksum
  }

  /// Waits until a record of the received bytes exists.
  private func recordAppears(_ fetch: FetchProcess) async throws {
    while try !folder.names.contains(where: { $0.hasSuffix(".part.json") }), fetch.isRunning {
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  @Test func killed_goesOnWhereItStopped() async throws {
    try await withSlowServer { server, arguments in
      let first = try FetchProcess(arguments, in: folder)
      try await recordAppears(first)
      first.send(SIGKILL)
      #expect(try await first.ending().status == SIGKILL)
      let ending = try await folder.fetch(arguments)
      #expect(ending.status == 0, "\(ending.output)")
      #expect(server.tally.requests == 2 && server.tally.partialResponses == 1)
      #expect(try isComplete(server))
    }
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
  func signal_endsItTidily(signal: Int32) async throws {
    try await withSlowServer { server, arguments in
      let fetch = try FetchProcess([arguments[0]], in: folder)
      try await recordAppears(fetch)
      fetch.send(signal)
      let ending = try await fetch.ending()
      #expect(ending.status == 128 + signal)
      #expect(ending.output.contains("1 partial file was kept; run the same command"))
      // The progress ends with a line break.
      #expect(ending.output.hasSuffix("\n"))
      #expect(try await folder.fetch(arguments).status == 0)
      #expect(server.tally.partialResponses == 1)
    }
  }

  @Test func deadline_keepsWhatCanBeContinued() async throws {
    // The rest of the file takes seconds, on a busy machine even longer.
    try await withSlowServer(pause: .milliseconds(50)) { server, arguments in
      let first = try FetchProcess(arguments, in: folder)
      try await recordAppears(first)
      first.send(SIGINT)
      _ = try await first.ending()
      let ending = try await folder.fetch(arguments + ["--deadline", "1"])
      #expect(ending.status == 1)
      #expect(
        ending.output.contains("not finished within 1.0 s; 1 partial file was kept"),
        "\(ending.output)")
    }
  }

  @Test func segments_comeOverSeveralConnections() async throws {
    try await withSlowServer(size: 20_000_000) { server, arguments in
      let ending = try await folder.fetch(arguments + ["--split", "3"])
      #expect(ending.status == 0, "\(ending.output)")
      #expect(server.tally.requests == 3 && server.tally.partialResponses == 2)
      #expect(try isComplete(server))
    }
  }

  @Test func existingFile_isReplaced_unlessTheUserSaysOtherwise() async throws {
    try await withSlowServer(size: 1000, pause: .zero) { server, arguments in
      let name = server.files[0].name
      try Data("mine".utf8).write(to: folder.file(name))
      #expect(try await folder.fetch(arguments + ["--no-clobber"]).status == 0)
      #expect(try folder.text(name) == "mine")
      #expect(server.tally.requests == 0)
      #expect(try await folder.fetch(arguments).status == 0)
      #expect(try isComplete(server))
    }
  }

  @Test func folderWithTheName_isAnErrorWithNoClobber() async throws {
    try await withSlowServer(size: 1000, pause: .zero) { server, arguments in
      try FileManager.default.createDirectory(
        at: folder.file(server.files[0].name), withIntermediateDirectories: false)
      let ending = try await folder.fetch(arguments + ["--no-clobber"])
      #expect(ending.status == 1)
      #expect(ending.output.contains("Is a directory"), "\(ending.output)")
    }
  }
}
