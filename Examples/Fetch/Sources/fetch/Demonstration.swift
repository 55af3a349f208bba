import ArgumentParser
import FetchSupport
import Foundation
import UnreliableServer

/// The demonstration, which runs if there are no arguments: downloads all files of an unreliable
/// server.
struct Demonstration {
  let fetch: Fetch

  func run() async throws {
    let server = try await LoopbackServer.start(
      Configuration(seed: fetch.seed ?? 1, fileCount: fetch.count ?? 200))
    let folder =
      fetch.output.map { URL(filePath: $0, directoryHint: .isDirectory) }
      ?? FileManager.default.temporaryDirectory.appending(
        component: "fetch-\(ProcessInfo.processInfo.processIdentifier)",
        directoryHint: .isDirectory)
    let introduction =
      """
      \(server.files.count) files, \(HumanReadable.bytes(server.files.map(\.size).reduce(0, +))), \
      on \(server.mirrors.count) unreliable mirrors: \
      \(server.mirrors.map(\.absoluteString).joined(separator: " "))
      """
    if !fetch.json { try StandardStreams.writeOutput(introduction + "\n") }

    let results: Results
    do {
      results = try await fetch.download(try fetch.downloads(in: server.manifest), to: folder)
    } catch {
      await server.stop()
      if fetch.output == nil { try? FileManager.default.removeItem(at: folder) }
      throw error
    }
    await server.stop()
    let tally = server.tally
    let verdict = Result { try verify(server.files, in: folder) }
    if fetch.output == nil { try FileManager.default.removeItem(at: folder) }
    try fetch.report(results)
    if fetch.json { return _ = try verdict.get() }
    try StandardStreams.writeOutput(
      """
      The server received \(tally.requests) requests and misbehaved \(tally.misbehaviors) times: \
      \(tally[.slow]) slow, \(tally[.busy] + tally[.busyWithRetryAfter]) busy, \
      \(tally[.cutOff]) truncated, \(tally[.wrongBytes]) corrupted.

      """)
    let count = try verdict.get()
    try StandardStreams.writeOutput(
      "All \(count) files are complete, and all checksums are correct.\n")
  }

  /// Compares the checksum of every file with the server's, and checks that no partial files
  /// remain.
  private func verify(_ files: [ServedFile], in folder: URL) throws -> Int {
    var faults: [String] = []
    for file in files {
      let url = folder.appending(component: file.name)
      let checksum = try? Checksum(ofFileAt: url)
      if checksum?.hex != file.sha256 { faults.append("\(file.name) is missing or corrupted") }
    }
    let names = try FileManager.default.contentsOfDirectory(
      atPath: folder.path(percentEncoded: false))
    faults += names.filter(PartialFile.isPartialName).map { "\($0) was not removed" }
    guard faults.isEmpty else {
      try StandardStreams.writeOutput(faults.joined(separator: "\n") + "\n")
      throw ExitCode(1)
    }
    return files.count
  }
}
