import Foundation
import Testing

@testable import fetch

/// Interruptions and failures of the environment: no file is lost or left incomplete.
@Suite(.serialized) struct FaultTests {
  private static let isFull = ProcessInfo.processInfo.environment["PLEDGE_FULL"] == "1"
  /// The folder for the files, and one for everything else.
  private let files = ScratchFolder()
  private let scratch = ScratchFolder()

  /// Runs `body` with a server, and the arguments to download all its files.
  private func withServer(
    _ configuration: UnreliableServer.Configuration,
    _ body: (_ server: UnreliableServer, _ arguments: [String]) async throws -> Void
  ) async throws {
    let server = try await UnreliableServer(configuration)
    try Data(server.list.utf8).write(to: scratch.file("list"))
    try await body(server, ["--list", scratch.path("list"), "--quiet"])
    withExtendedLifetime(server) {}
  }

  /// The names of the complete files; records an issue for an incomplete file under a final name.
  private func wholeFiles(of server: UnreliableServer) throws -> Set<String> {
    let right = Dictionary(uniqueKeysWithValues: server.files.map { ($0.name, $0.checksum) })
    let names = try files.names.filter { !PartialFile.isPartialName($0) }
    for name in names {
      let checksum = try Checksum(ofFileAt: files.path(name))
      #expect(checksum == right[name], "\(name) is half-written or unknown")
    }
    return Set(names)
  }

  private var partialFiles: [String] {
    get throws { try files.names.filter(PartialFile.isPartialName) }
  }

  @Test func killedAtRandom_andRunAgain_completes() async throws {
    let configuration = UnreliableServer.Configuration(
      seed: 3, fileCount: Self.isFull ? 600 : 60, sizes: 1...300_000)
    try await withServer(configuration) { server, arguments in
      var before: Set<String> = []
      var timesKilled = 0
      for _ in 0..<(Self.isFull ? 100 : 6) {
        let fetch = try FetchProcess(arguments, in: files)
        try await Task.sleep(for: .milliseconds(.random(in: 20...700)))
        fetch.send(SIGKILL)
        if try await fetch.ending().status == SIGKILL { timesKilled += 1 }
        let now = try wholeFiles(of: server)
        #expect(now.isSuperset(of: before), "whole files are kept")
        before = now
      }
      #expect(timesKilled > 0, "it was done before it could be killed")
      let asked = server.tally.requests
      try await files.fetch(arguments)
      #expect(try wholeFiles(of: server).count == server.files.count)
      #expect(try partialFiles.isEmpty, "the last run leaves nothing")

      // Runs again: all files exist, and no request is sent.
      let askedByThen = server.tally.requests
      #expect(askedByThen > asked || before.count == server.files.count)
      try await files.fetch(arguments)
      #expect(server.tally.requests == askedByThen)
    }
  }

  @Test func fileTooLarge_isReported_andOthersAreSaved() async throws {
    let configuration = UnreliableServer.Configuration(seed: 5, fileCount: 30, sizes: 1...400_000)
    try await withServer(configuration) { server, arguments in
      // The unit is 512 bytes in a POSIX shell, and 1024 in others.
      let output = try await files.fetch(arguments, setup: "ulimit -f 200", status: 1)
      #expect(output.contains("File too large"))
      let whole = try wholeFiles(of: server)
      let small = server.files.filter { $0.bytes.count <= 200 * 512 }.map(\.name)
      let large = server.files.filter { $0.bytes.count > 200 * 1024 }.map(\.name)
      #expect(!small.isEmpty && !large.isEmpty)
      #expect(whole.isSuperset(of: small) && whole.isDisjoint(with: large))
      #expect(try partialFiles.isEmpty)
    }
  }

  /// Runs a command of the shell, and returns whether it succeeds.
  private func succeeds(_ command: String) throws -> Bool {
    let process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = ["-c", command]
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus == 0
  }

  @Test func fullDisk_isReported_andLeavesNothingPartial() async throws {
    guard try succeeds("mount -t tmpfs -o size=1m tmpfs '\(files.path)' 2>/dev/null") else {
      print("No file system may be mounted here: the test of a full disk is left out.")
      return
    }
    defer { _ = try? succeeds("umount '\(files.path)'") }
    let configuration = UnreliableServer.Configuration(
      seed: 6, fileCount: 20, sizes: 50_000...300_000)
    try await withServer(configuration) { server, arguments in
      let output = try await files.fetch(arguments, status: 1)
      #expect(output.contains("No space left on device"))
      _ = try wholeFiles(of: server)
      #expect(try partialFiles.isEmpty)
    }
  }

  @Test func manyFiles_allArrive_withFewDescriptors() async throws {
    let configuration = UnreliableServer.Configuration(
      seed: 7, fileCount: Self.isFull ? 10_000 : 300, sizes: 1...2000, share: 0.02)
    try await withServer(configuration) { server, arguments in
      // Far fewer than the number of files, which therefore aren't all open at the same time.
      try await files.fetch(arguments, setup: "ulimit -n 200")
      #expect(try wholeFiles(of: server).count == server.files.count)
    }
  }

  @Test(arguments: 0..<(isFull ? 30 : 4))
  func interrupted_endsWith130_andLeavesNothingPartial(seed: Int) async throws {
    // Some of the files take longer than the test.
    let configuration = UnreliableServer.Configuration(
      seed: seed, fileCount: 200, sizes: 50_000...300_000, pause: .seconds(1))
    try await withServer(configuration) { server, arguments in
      let fetch = try FetchProcess(arguments, in: files)
      while try partialFiles.isEmpty, fetch.isRunning {
        try await Task.sleep(for: .milliseconds(1))
      }
      try await Task.sleep(for: .milliseconds(.random(in: 0...200)))
      fetch.send(SIGINT)
      let ending = try await fetch.ending()
      #expect(ending.status == 130, "\(ending.output)")
      #expect(ending.output.contains("interrupted; no partial files were kept"))
      #expect(try partialFiles.isEmpty)
      _ = try wholeFiles(of: server)
    }
  }

  @Test func deadline_endsEverything_andLeavesNothingPartial() async throws {
    let configuration = UnreliableServer.Configuration(fileCount: 20, share: 0, stalls: 1000)
    try await withServer(configuration) { _, arguments in
      let output = try await files.fetch(arguments + ["--deadline", "1.5"], status: 1)
      #expect(output.hasPrefix("fetch: not finished within 1.5 s; no partial files were kept\n"))
      #expect(try partialFiles.isEmpty)
    }
  }

  @Test func timeout_endsAStalledConnection_andRetriesAreCounted() async throws {
    let configuration = UnreliableServer.Configuration(mirrorCount: 1, share: 0, stalls: 1000)
    try await withServer(configuration) { _, arguments in
      let output = try await files.fetch(
        arguments + ["--timeout", "0.8", "--retries", "2"], status: 1)
      #expect(output.contains("3 attempts failed: no data received for 0.8 s"))
      #expect(try partialFiles.isEmpty)
    }
  }

  @Test func list_canBeAPipe() async throws {
    try await withServer(UnreliableServer.Configuration(fileCount: 3, share: 0)) { server, _ in
      let (list, pipe) = (scratch.path("list"), scratch.path("pipe"))
      try await files.fetch(
        ["--list", pipe], setup: "mkfifo '\(pipe)' && (cat '\(list)' > '\(pipe)' &)")
      #expect(try wholeFiles(of: server).count == 3)
    }
  }

  /// Each fault reaches the client; otherwise, the other tests would test nothing.
  @Test(arguments: UnreliableServer.Fault.allCases)
  func fault_isWhatTheServerSays(fault: UnreliableServer.Fault) async throws {
    let configuration = UnreliableServer.Configuration(
      sizes: 1000...1000, mirrorCount: 1, faults: [fault], share: 1, pause: .zero)
    try await withServer(configuration) { server, arguments in
      let output = try await files.fetch(
        arguments + ["--retries", "0"], status: fault == .slow ? 0 : 1)
      let message =
        switch fault {
        case .slow: ""
        case .busy, .busyWithRetryAfter: "HTTP status 503"
        case .cutOff: "is incomplete"
        case .wrongByte: "wrong sha256"
        }
      #expect(message.isEmpty || output.contains(message), "\(output)")
      #expect(server.tally.requests == 1)
    }
  }
}
