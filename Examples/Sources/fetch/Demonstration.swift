import ArgumentParser
import FetchSupport
import Foundation
import UnreliableServer

/// What `fetch` does without a list: downloads everything from a server that misbehaves.
struct Demonstration {
  let fetch: Fetch

  func run() async throws {
    let server = try await LoopbackServer.start(
      Configuration(seed: fetch.seed, fileCount: fetch.count))
    let folder =
      fetch.output.map { URL(filePath: $0, directoryHint: .isDirectory) }
      ?? FileManager.default.temporaryDirectory.appending(
        component: "fetch-\(ProcessInfo.processInfo.processIdentifier)",
        directoryHint: .isDirectory)
    let introduction =
      """
      \(server.files.count) files, \(HumanReadable.bytes(server.files.map(\.size).reduce(0, +))), \
      on \(server.mirrors.count) mirrors that misbehave: \
      \(server.mirrors.map(\.absoluteString).joined(separator: " "))
      """
    if !fetch.json { print(introduction) }

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
    print(
      """
      The server was asked \(tally.requests) times and misbehaved \(tally.misbehaviors) times: \
      \(tally[.slow]) slow, \(tally[.busy] + tally[.busyWithRetryAfter]) busy, \
      \(tally[.cutOff]) cut off, \(tally[.wrongBytes]) with wrong bytes.
      """)
    print("All \(try verdict.get()) files are there, and every checksum is right.")
  }

  /// Reads every file again and compares it with what the server has; partial files count as
  /// faults.
  private func verify(_ files: [ServedFile], in folder: URL) throws -> Int {
    var faults: [String] = []
    for file in files {
      let url = folder.appending(component: file.name)
      let checksum = try? Checksum(ofFileAt: url)
      if checksum?.hex != file.sha256 { faults.append("\(file.name) is missing or wrong") }
    }
    let names = try FileManager.default.contentsOfDirectory(
      atPath: folder.path(percentEncoded: false))
    faults += names.filter(PartialFile.isPartialName).map { "\($0) was left behind" }
    guard faults.isEmpty else {
      print(faults.joined(separator: "\n"))
      throw ExitCode(1)
    }
    return files.count
  }
}
