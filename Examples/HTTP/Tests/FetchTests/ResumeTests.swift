import Foundation
import Testing

@testable import fetch

/// Bytes that have already arrived aren't downloaded again.
@Suite(.serialized) struct ResumeTests {
  private let folder = ScratchFolder()

  /// Runs `body` with a server of one file, whose body stops in the first `stalls` responses.
  private func withServer(
    size: Int = 8_000_000, stalls: Int = 0,
    _ body: (_ server: UnreliableServer, _ arguments: [String]) async throws -> Void
  ) async throws {
    let server = try await UnreliableServer(
      UnreliableServer.Configuration(sizes: size...size, mirrorCount: 1, share: 0, stalls: stalls))
    try await body(server, [server.files[0].urls[0], "--quiet"])
    withExtendedLifetime(server) {}
  }

  /// Whether the folder contains the file of the server, and nothing else.
  private func isComplete(_ server: UnreliableServer) throws -> Bool {
    let file = server.files[0]
    return try folder.names == [file.name]
      && Checksum(ofFileAt: folder.path(file.name)) == file.checksum
  }

  /// Starts a download, and sends it `signal` when a record of the received bytes exists.
  private func interrupted(
    _ arguments: [String], by signal: Int32
  ) async throws -> FetchProcess.Ending {
    let fetch = try FetchProcess(arguments, in: folder)
    while try !folder.names.contains(where: { $0.hasSuffix(".fetch-part.json") }), fetch.isRunning {
      try await Task.sleep(for: .milliseconds(5))
    }
    fetch.send(signal)
    return try await fetch.ending()
  }

  @Test(arguments: [SIGKILL, SIGINT, SIGTERM, SIGHUP])
  func signal_endsIt_andTheNextRunGoesOnWhereItStopped(signal: Int32) async throws {
    try await withServer(stalls: 1) { server, arguments in
      let ending = try await interrupted([arguments[0]], by: signal)
      #expect(ending.status == (signal == SIGKILL ? SIGKILL : 128 + signal))
      if signal != SIGKILL {
        #expect(ending.output.contains("1 partial file was kept; run the same command"))
        // The progress ends with a line break.
        #expect(ending.output.hasSuffix("\n"))
      }
      try await folder.fetch(arguments)
      #expect(server.tally.requests == 2 && server.tally.partialResponses == 1)
      #expect(try isComplete(server))
    }
  }

  @Test func segments_comeOverSeveralConnections() async throws {
    try await withServer(size: 20_000_000) { server, arguments in
      try await folder.fetch(arguments + ["--split", "3"])
      #expect(server.tally.requests == 3 && server.tally.partialResponses == 2)
      #expect(try isComplete(server))
    }
  }

  @Test func existingFile_isReplaced_unlessTheUserSaysOtherwise_orItIsAFolder() async throws {
    try await withServer(size: 1000) { server, arguments in
      let file = folder.file(server.files[0].name)
      try Data("mine".utf8).write(to: file)
      try await folder.fetch(arguments + ["--no-clobber"])
      #expect(try String(contentsOf: file, encoding: .utf8) == "mine")
      #expect(server.tally.requests == 0)
      try await folder.fetch(arguments)
      #expect(try isComplete(server))
      try FileManager.default.removeItem(at: file)
      try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
      let output = try await folder.fetch(arguments + ["--no-clobber"], status: 1)
      #expect(output.contains("Is a directory"))
    }
  }
}
