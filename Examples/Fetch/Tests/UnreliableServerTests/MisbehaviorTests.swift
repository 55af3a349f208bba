import Foundation
import Synchronization
import Testing

@testable import UnreliableServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct MisbehaviorTests {
  private func withFile(
    size: Int, _ conducts: Conduct..., body: (LoopbackServer, ServedFile) async throws -> Void
  ) async throws {
    let script = Script { occasion in
      conducts.indices.contains(occasion.attempt - 1) ? conducts[occasion.attempt - 1] : .honest
    }
    try await withServer(
      Configuration(fileCount: 1, sizes: size...size, script: script)
    ) { server in
      try await body(server, server.files[0])
    }
  }

  @Test(arguments: [1, 2, 1000, 3_000_000])
  func cutOff_isATruncatedTransferForTheClient(size: Int) async throws {
    try await withFile(size: size, .cutOff) { server, file in
      let answer = try await Client.get(file.urls[0])
      #expect(answer.status == 200)
      #expect(answer.expectedLength == Int64(size))
      #expect(answer.bytes.count == size / 2)
      #expect(answer.error != nil)
      #expect(server.tally[.cutOff] == 1)
      #expect(sha256(try await Client.get(file.urls[0]).bytes) == file.sha256)
    }
  }

  @Test(arguments: [1, 2, 1000, 3_000_000])
  func wrongBytes_areAsManyAsTheRightOnes(size: Int) async throws {
    try await withFile(size: size, .wrongBytes) { server, file in
      let wrong = try await Client.get(file.urls[0])
      let right = try await Client.get(file.urls[0])
      #expect(wrong.error == nil)
      #expect(wrong.bytes.count == size)
      #expect(sha256(wrong.bytes) != file.sha256)
      #expect(sha256(right.bytes) == file.sha256)
      #expect(zip(wrong.bytes, right.bytes).count { $0 != $1 } == 1)
      #expect(server.tally[.wrongBytes] == 1)
    }
  }

  @Test func busy_is503() async throws {
    try await withFile(size: 10, .busy) { server, file in
      let answer = try await Client.get(file.urls[0])
      #expect(answer.status == 503)
      #expect(answer.headers["Retry-After"] == nil)
      #expect(answer.error == nil)
      #expect(server.tally[.busy] == 1)
    }
  }

  @Test func busyWithRetryAfter_is503AndSaysWhenToComeBack() async throws {
    var configuration = Configuration(fileCount: 1, script: .inTurn(.busyWithRetryAfter))
    configuration.retryAfter = 7
    try await withServer(configuration) { server in
      let answer = try await Client.get(server.files[0].urls[0])
      #expect(answer.status == 503)
      #expect(answer.headers["Retry-After"] == "7")
      #expect(server.tally[.busyWithRetryAfter] == 1)
    }
  }

  @Test func slow_sendsPieceByPiece() async throws {
    let (gate, opening) = AsyncStream<Void>.makeStream()
    let pauses = Mutex<[Duration]>([])
    var configuration = Configuration(
      fileCount: 1, sizes: 1000...1000, script: .inTurn(.slow))
    configuration.slowPieces = 4
    configuration.slowPause = .seconds(3)
    configuration.sleep = { pause in
      pauses.withLock { $0.append(pause) }
      for await _ in gate {}
    }
    try await withServer(configuration) { server in
      let file = server.files[0]
      try await Client.withClient { client, session in
        var bytes = Data()
        for try await event in client.events(of: URLRequest(url: file.urls[0]), in: session) {
          guard case .bytes(let piece) = event else { continue }
          // The server waits at the gate until the first piece has arrived.
          if bytes.isEmpty {
            #expect(piece.count == 250)
            opening.finish()
          }
          bytes += piece
        }
        #expect(sha256(bytes) == file.sha256)
      }
      #expect(pauses.withLock { $0 } == [.seconds(3), .seconds(3), .seconds(3)])
      #expect(server.tally[.slow] == 1)
    }
  }

  @Test func stop_cutsOffASlowAnswer() async throws {
    let (gate, opening) = AsyncStream<Void>.makeStream()
    var configuration = Configuration(
      fileCount: 1, sizes: 1000...1000, script: .inTurn(.slow))
    configuration.sleep = { _ in for await _ in gate {} }
    let server = try await LoopbackServer.start(configuration)
    let error = await #expect(throws: (any Error).self) {
      try await Client.withClient { client, session in
        let request = URLRequest(url: server.files[0].urls[0])
        for try await event in client.events(of: request, in: session) {
          if case .bytes = event { await server.stop() }
        }
      }
    }
    #expect(error is URLError)
    opening.finish()
  }

  @Test func emptyFile_isNeverCutOffOrWrong() async throws {
    try await withFile(size: 0, .cutOff, .wrongBytes, .slow) { server, file in
      for _ in 0..<3 { #expect(try await Client.get(file.urls[0]).status == 503) }
      let answer = try await Client.get(file.urls[0])
      #expect(answer.status == 200)
      #expect(sha256(answer.bytes) == file.sha256)
      #expect(server.tally[.busy] == 3)
    }
  }

  @Test func mirrors_countTheirAttemptsApart() async throws {
    try await withFile(size: 10, .busy) { server, file in
      for url in file.urls {
        let answers = [try await Client.get(url), try await Client.get(url)]
        #expect(answers.map(\.status) == [503, 200])
      }
      #expect(server.tallies.map { $0[.busy] } == [1, 1])
    }
  }

  @Test func retries_winInTheEnd() async throws {
    let script = Script.random(seed: 5, share: 1, earlyAttempts: 3)
    var configuration = Configuration(fileCount: 10, sizes: 1...5000, script: script)
    configuration.slowPause = .zero
    try await withServer(configuration) { server in
      for file in server.files {
        for _ in 1...3 { _ = try await Client.get(file.urls[1]) }
        #expect(sha256(try await Client.get(file.urls[1]).bytes) == file.sha256)
      }
      #expect(server.tally.misbehaviors == 30)
      #expect(server.tally[.honest] == 10)
    }
  }
}

@Suite struct ScriptTests {
  private func occasions(attempts: ClosedRange<Int>) -> [Occasion] {
    (0..<500).flatMap { file in
      (0..<2).flatMap { mirror in
        attempts.map { Occasion(file: file, mirror: mirror, attempt: $0) }
      }
    }
  }

  @Test func random_withEqualSeeds_isEqual() {
    let occasions = occasions(attempts: 1...5)
    let script = Script.random(seed: 1)
    let conducts = occasions.map(script.conduct)
    #expect(occasions.map(Script.random(seed: 1).conduct) == conducts)
    #expect(occasions.map(Script.random(seed: 2).conduct) != conducts)
  }

  @Test func random_meetsItsShareAndKnowsEveryKind() {
    let script = Script.random(seed: 3, share: 0.4, earlyAttempts: 3)
    let conducts = occasions(attempts: 1...3).map(script.conduct)
    let counts = Dictionary(grouping: conducts, by: { $0 }).mapValues(\.count)
    #expect((1600...2000).contains(counts[.honest, default: 0]))
    for conduct in Conduct.allCases where conduct != .honest {
      #expect((160...320).contains(counts[conduct, default: 0]), "\(conduct)")
    }
  }

  @Test func random_afterTheEarlyAttempts_isHonest() {
    let script = Script.random(seed: 3, share: 1, earlyAttempts: 2)
    #expect(occasions(attempts: 1...2).allSatisfy { script.conduct(on: $0) != .honest })
    #expect(occasions(attempts: 3...9).allSatisfy { script.conduct(on: $0) == .honest })
  }

  @Test func content_isTheSameInAnyPieces() {
    let content = Content(seed: 9, size: 1000)
    let whole = content.bytes(0..<1000)
    #expect(whole.count == 1000)
    for start in stride(from: 0, to: 1000, by: 37) {
      for length in [0, 1, 7, 8, 9, 100] where start + length <= 1000 {
        #expect(content.bytes(start..<start + length) == whole.subdata(in: start..<start + length))
      }
    }
    #expect(content.sha256 == sha256(whole))
  }
}
