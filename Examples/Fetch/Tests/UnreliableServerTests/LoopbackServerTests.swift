import FetchSupport
import Foundation
import Testing

@testable import UnreliableServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Calls `body` with a server, and stops the server afterward.
func withServer(
  _ configuration: Configuration, _ body: (LoopbackServer) async throws -> Void
) async throws {
  let server = try await LoopbackServer.start(configuration)
  do {
    try await body(server)
  } catch {
    await server.stop()
    throw error
  }
  await server.stop()
}

/// Returns the SHA-256 of `data` in hexadecimal digits.
func sha256(_ data: Data) -> String {
  Checksum(of: data).hex
}

@Suite struct LoopbackServerTests {
  @Test func start_servesEveryFileOnEveryMirror() async throws {
    let configuration = Configuration(fileCount: 12, sizes: 3...300_000, script: .honest)
    try await withServer(configuration) { server in
      #expect(server.files.count == 12)
      #expect(server.mirrors.count == 2)
      #expect(Set(server.mirrors.map(\.port)).count == 2)
      for file in server.files {
        #expect(configuration.sizes.contains(file.size))
        #expect(file.urls.map(\.port) == server.mirrors.map(\.port))
        for url in file.urls {
          let answer = try await Client.get(url)
          #expect(answer.status == 200)
          #expect(answer.expectedLength == Int64(file.size))
          #expect(answer.error == nil)
          #expect(sha256(answer.bytes) == file.sha256)
        }
      }
      #expect(server.tally.requests == 24)
      #expect(server.tally[.honest] == 24)
      #expect(server.tally.misbehaviors == 0)
      #expect(server.tallies.map(\.requests) == [12, 12])
    }
  }

  @Test func start_withEqualSeeds_servesEqualFiles() async throws {
    func files(seed: UInt64) async throws -> [String] {
      let server = try await LoopbackServer.start(
        Configuration(seed: seed, fileCount: 5, sizes: 0...1000))
      await server.stop()
      return server.files.map { "\($0.name) \($0.size) \($0.sha256)" }
    }
    let once = try await files(seed: 7)
    #expect(try await files(seed: 7) == once)
    #expect(try await files(seed: 8) != once)
    #expect(Set(once).count == 5)
  }

  @Test func start_withOneSize_servesFilesOfThatSize() async throws {
    try await withServer(Configuration(fileCount: 3, sizes: 5_000_000...5_000_000)) { server in
      #expect(server.files.map(\.size) == [5_000_000, 5_000_000, 5_000_000])
    }
  }

  @Test func request_forSomethingElse_isRefusedHonestly() async throws {
    try await withServer(Configuration(fileCount: 1, script: .inTurn(.cutOff))) { server in
      let mirror = server.mirrors[0]
      for path in ["", "files/", "files/nothing", "files/../files", "files/file-0.bin/x"] {
        #expect(try await Client.get(mirror.appending(path: path)).status == 404)
      }
      for method in ["HEAD", "POST", "DELETE"] {
        let answer = try await Client.get(server.files[0].urls[0], method: method)
        #expect(answer.status == 405)
        #expect(answer.headers["Allow"] == "GET")
      }
      #expect(server.tally.requests == 0)
    }
  }

  @Test func manyRequestsAtOnce_areAllAnswered() async throws {
    let configuration = Configuration(fileCount: 100, sizes: 1...50_000, script: .honest)
    try await withServer(configuration) { server in
      try await Client.withClient { client, session in
        await withTaskGroup(of: Bool.self) { group in
          for file in server.files {
            for url in file.urls {
              group.addTask {
                let answer = await client.answer(to: URLRequest(url: url), in: session)
                return sha256(answer.bytes) == file.sha256
              }
            }
          }
          for await isRight in group { #expect(isRight) }
        }
      }
      #expect(server.tally[.honest] == 200)
    }
  }

  @Test func stop_endsAllMirrors() async throws {
    let server = try await LoopbackServer.start(Configuration(fileCount: 1, script: .honest))
    await server.stop()
    await server.stop()
    for url in server.files[0].urls {
      #expect(try await Client.get(url).error?.code == .cannotConnectToHost)
    }
  }

  @Test func manifest_namesMirrorsChecksumAndName() async throws {
    try await withServer(Configuration(fileCount: 3, sizes: 1...10)) { server in
      let lines = server.manifest.split(separator: "\n")
      #expect(lines.count == 3)
      let file = server.files[1]
      #expect(
        lines[1]
          == "\(file.urls[0]) \(file.urls[1]) sha256=\(file.sha256) out=\(file.name)")
    }
  }
}
