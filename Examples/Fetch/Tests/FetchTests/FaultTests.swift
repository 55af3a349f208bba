import FetchSupport
import Foundation
import Testing
import UnreliableServer

/// Interruptions and failures of the environment: no file is lost or left incomplete.
@Suite(.serialized) struct FaultTests {
  private let isFull = ProcessInfo.processInfo.environment["PLEDGE_FULL"] == "1"

  /// Runs `body` with an empty folder for the files and one for everything else.
  private func withFolders(_ body: (_ files: URL, _ scratch: URL) async throws -> Void) async throws
  {
    let scratch = FileManager.default.temporaryDirectory.appending(
      component: "fetch-tests-\(UUID().uuidString)", directoryHint: .isDirectory)
    let files = scratch.appending(component: "files – ü", directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: scratch) }
    try await body(files, scratch)
  }

  private func path(_ folder: URL) -> String { folder.path(percentEncoded: false) }

  private func writeList(_ server: LoopbackServer, in folder: URL) throws -> String {
    let list = folder.appending(component: "list.txt")
    try Data(server.manifest.utf8).write(to: list)
    return list.path(percentEncoded: false)
  }

  /// The names of the complete files; records an issue for an incomplete file under a final name.
  private func wholeFiles(of server: LoopbackServer, in folder: URL) throws -> Set<String> {
    let names = try FileManager.default.contentsOfDirectory(
      atPath: folder.path(percentEncoded: false))
    let right = Dictionary(uniqueKeysWithValues: server.files.map { ($0.name, $0.sha256) })
    var whole: Set<String> = []
    for name in names where !PartialFile.isPartialName(name) {
      let checksum = try Checksum(ofFileAt: path(folder) + name)
      #expect(checksum.hex == right[name], "\(name) is half-written or unknown")
      whole.insert(name)
    }
    return whole
  }

  private func partialFiles(in folder: URL) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))
      .filter(PartialFile.isPartialName)
  }

  /// Returns a server that sends a piece of each file and then nothing for a minute.
  private func stalledServer(fileCount: Int) async throws -> LoopbackServer {
    var configuration = Configuration(
      seed: 8, fileCount: fileCount, sizes: 100_000...200_000, script: Script { _ in .slow })
    configuration.slowPause = .seconds(60)
    return try await LoopbackServer.start(configuration)
  }

  @Test func killedAtRandom_andRunAgain_completes() async throws {
    try await withFolders { files, scratch in
      let server = try await LoopbackServer.start(
        Configuration(seed: 3, fileCount: isFull ? 600 : 60, sizes: 1...300_000))
      let list = try writeList(server, in: scratch)
      let arguments = ["--list", list, "--directory", files.path(percentEncoded: false), "--quiet"]
      var before: Set<String> = []
      var timesKilled = 0
      for _ in 0..<(isFull ? 100 : 6) {
        let fetch = try FetchProcess(arguments, in: scratch)
        try await Task.sleep(for: .milliseconds(.random(in: 20...700)))
        fetch.kill()
        if try await fetch.ending().status == SIGKILL { timesKilled += 1 }
        let now = try wholeFiles(of: server, in: files)
        #expect(now.isSuperset(of: before), "whole files are kept")
        before = now
      }
      #expect(timesKilled > 0, "it was done before it could be killed")
      // Nothing shows that these files, which are too small for a record, aren't the user's.
      let left = Set(try partialFiles(in: files))
      let asked = server.tally.requests
      let ending = try await FetchProcess(arguments, in: scratch).ending()
      #expect(ending.status == 0, "\(ending.output)")
      #expect(try wholeFiles(of: server, in: files).count == server.files.count)
      #expect(Set(try partialFiles(in: files)) == left, "the last run leaves nothing")

      // Runs again: all files exist, and no request is sent.
      let askedByThen = server.tally.requests
      #expect(askedByThen > asked || before.count == server.files.count)
      let again = try await FetchProcess(arguments, in: scratch).ending()
      #expect(again.status == 0)
      #expect(server.tally.requests == askedByThen)
      await server.stop()
    }
  }

  @Test func serverGoneHalfWay_saysSo_andLeavesNothingPartial() async throws {
    try await withFolders { files, scratch in
      let server = try await LoopbackServer.start(
        Configuration(seed: 4, fileCount: 60, sizes: 100_000...400_000))
      let list = try writeList(server, in: scratch)
      let fetch = try FetchProcess(
        [
          "--list", list, "--directory", files.path(percentEncoded: false), "--quiet", "--retries",
          "1",
        ], in: scratch)
      while try wholeFiles(of: server, in: files).count < 5, fetch.isRunning {
        try await Task.sleep(for: .milliseconds(5))
      }
      await server.stop()
      let ending = try await fetch.ending()
      #expect(ending.status == 1, "\(ending.output)")
      let whole = try wholeFiles(of: server, in: files)
      #expect(whole.count >= 5 && whole.count < 60)
      let names = try FileManager.default.contentsOfDirectory(
        atPath: files.path(percentEncoded: false))
      #expect(names.filter(PartialFile.isPartialName).isEmpty)
      #expect(ending.output.contains("onnect"))
    }
  }

  @Test func fileTooLarge_isReported_andOthersAreSaved() async throws {
    try await withFolders { files, scratch in
      let server = try await LoopbackServer.start(
        Configuration(seed: 5, fileCount: 30, sizes: 1...400_000))
      let list = try writeList(server, in: scratch)
      // The unit is 512 bytes in a POSIX shell, and 1024 in others.
      let fetch = try FetchProcess(
        ["--list", list, "--directory", files.path(percentEncoded: false), "--quiet"], in: scratch,
        setup: "ulimit -f 200")
      let ending = try await fetch.ending()
      #expect(ending.status == 1, "\(ending.output)")
      #expect(ending.output.contains("File too large"), "\(ending.output)")
      let whole = try wholeFiles(of: server, in: files)
      let small = server.files.filter { $0.size <= 200 * 512 }.map(\.name)
      let large = server.files.filter { $0.size > 200 * 1024 }.map(\.name)
      #expect(!small.isEmpty && !large.isEmpty)
      #expect(whole.isSuperset(of: small) && whole.isDisjoint(with: large))
      let names = try FileManager.default.contentsOfDirectory(
        atPath: files.path(percentEncoded: false))
      #expect(names.filter(PartialFile.isPartialName).isEmpty)
      await server.stop()
    }
  }

  @Test func fullDisk_isReported_andLeavesNothingPartial() async throws {
    try await withFolders { files, scratch in
      let mount = Process()
      mount.executableURL = URL(filePath: "/bin/sh")
      mount.arguments = [
        "-c", #"mount -t tmpfs -o size=1m tmpfs "$0" 2>/dev/null"#,
        files.path(percentEncoded: false),
      ]
      try mount.run()
      mount.waitUntilExit()
      guard mount.terminationStatus == 0 else {
        print("No file system may be mounted here: the test of a full disk is left out.")
        return
      }
      defer {
        let unmount = Process()
        unmount.executableURL = URL(filePath: "/bin/sh")
        unmount.arguments = ["-c", #"umount "$0""#, files.path(percentEncoded: false)]
        try? unmount.run()
        unmount.waitUntilExit()
      }
      let server = try await LoopbackServer.start(
        Configuration(seed: 6, fileCount: 20, sizes: 50_000...300_000))
      let list = try writeList(server, in: scratch)
      let ending = try await FetchProcess(
        ["--list", list, "--directory", files.path(percentEncoded: false), "--quiet"], in: scratch
      ).ending()
      #expect(ending.status == 1, "\(ending.output)")
      #expect(ending.output.contains("No space left on device"), "\(ending.output)")
      _ = try wholeFiles(of: server, in: files)
      let names = try FileManager.default.contentsOfDirectory(
        atPath: files.path(percentEncoded: false))
      #expect(names.filter(PartialFile.isPartialName).isEmpty)
      await server.stop()
    }
  }

  @Test func manyFiles_allArrive_withFewDescriptors() async throws {
    try await withFolders { files, scratch in
      let count = isFull ? 10_000 : 300
      let server = try await LoopbackServer.start(
        Configuration(
          seed: 7, fileCount: count, sizes: 1...2_000, script: .random(seed: 7, share: 0.02)))
      let list = try writeList(server, in: scratch)
      // Far fewer than the number of files: files are closed, and not all are open at the same
      // time.
      let fetch = try FetchProcess(
        ["--list", list, "--directory", files.path(percentEncoded: false), "--quiet"], in: scratch,
        setup: "ulimit -n 200")
      let ending = try await fetch.ending()
      #expect(ending.status == 0, "\(ending.output.suffix(2000))")
      #expect(try wholeFiles(of: server, in: files).count == count)
      await server.stop()
    }
  }

  @Test func interrupted_endsWith130_andLeavesNothingPartial() async throws {
    for round in 0..<(isFull ? 30 : 4) {
      try await withFolders { files, scratch in
        let server = try await LoopbackServer.start(
          Configuration(seed: UInt64(round), fileCount: 200, sizes: 50_000...300_000))
        let list = try writeList(server, in: scratch)
        let fetch = try FetchProcess(
          ["--list", list, "--directory", files.path(percentEncoded: false), "--quiet"], in: scratch
        )
        while try partialFiles(in: files).isEmpty, fetch.isRunning {
          try await Task.sleep(for: .milliseconds(1))
        }
        try await Task.sleep(for: .milliseconds(.random(in: 0...200)))
        fetch.interrupt()
        let ending = try await fetch.ending()
        #expect(ending.status == 130, "\(ending.output)")
        #expect(ending.output.contains("interrupted; no partial files were kept"))
        #expect(try partialFiles(in: files).isEmpty)
        _ = try wholeFiles(of: server, in: files)
        await server.stop()
      }
    }
  }

  @Test func deadline_endsEverything_andLeavesNothingPartial() async throws {
    try await withFolders { files, scratch in
      let server = try await stalledServer(fileCount: 20)
      let list = try writeList(server, in: scratch)
      let fetch = try FetchProcess(
        [
          "--list", list, "--directory", files.path(percentEncoded: false), "--deadline", "1.5",
          "--quiet",
        ], in: scratch)
      while try partialFiles(in: files).count < 8, fetch.isRunning {
        try await Task.sleep(for: .milliseconds(1))
      }
      #expect(fetch.isRunning)
      let ending = try await fetch.ending()
      #expect(ending.status == 1)
      #expect(
        ending.output.hasPrefix("fetch: not finished within 1.5 s; no partial files were kept\n"))
      #expect(try partialFiles(in: files).isEmpty)
      await server.stop()
    }
  }

  @Test func timeout_endsAStalledConnection_andRetriesAreCounted() async throws {
    try await withFolders { files, scratch in
      let server = try await stalledServer(fileCount: 1)
      let list = try writeList(server, in: scratch)
      let ending = try await FetchProcess(
        [
          "--list", list, "--directory", files.path(percentEncoded: false), "--timeout", "0.8",
          "--retries", "2",
        ],
        in: scratch
      ).ending()
      #expect(ending.status == 1)
      #expect(
        ending.output.contains("3 attempts failed: no data received for 0.8 s"),
        "\(ending.output)")
      // Three attempts; the second mirror isn't used, because the first one responds.
      #expect(server.tally.requests == 3)
      #expect(try partialFiles(in: files).isEmpty)
      await server.stop()
    }
  }

  @Test func noRetries_asksEachMirrorOnce() async throws {
    try await withFolders { files, scratch in
      let server = try await LoopbackServer.start(
        Configuration(fileCount: 3, script: Script { _ in .busyWithRetryAfter }))
      let list = try writeList(server, in: scratch)
      let ending = try await FetchProcess(
        ["--list", list, "--directory", files.path(percentEncoded: false), "--retries", "0"],
        in: scratch
      ).ending()
      #expect(ending.status == 1)
      #expect(ending.output.contains("HTTP status 503"), "\(ending.output)")
      #expect(server.tally.requests == 6)
      #expect(try wholeFiles(of: server, in: files).isEmpty)
      await server.stop()
    }
  }

  @Test func list_canBeAPipe() async throws {
    try await withFolders { files, scratch in
      let server = try await LoopbackServer.start(
        Configuration(fileCount: 3, script: Script { _ in .honest }))
      let list = try writeList(server, in: scratch)
      let pipe = scratch.appending(component: "pipe").path(percentEncoded: false)
      let ending = try await FetchProcess(
        ["--list", pipe, "--directory", files.path(percentEncoded: false)], in: scratch,
        setup: "mkfifo '\(pipe)' && (cat '\(list)' > '\(pipe)' &)"
      ).ending()
      #expect(ending.status == 0, "\(ending.output)")
      #expect(try wholeFiles(of: server, in: files).count == 3)
      await server.stop()
    }
  }

  @Test func badUsage_isExplained() async throws {
    try await withFolders { _, scratch in
      for (arguments, message) in [
        (
          ["--timeout", "0", "http://127.0.0.1:1/x"],
          "--timeout must be a positive number of seconds"
        ),
        (["--retries=-1"], "--retries must be from 0 to 1000000"),
        (["--retries", "\(Int.max)"], "--retries must be from 0 to 1000000"),
        (["--concurrency", "\(Int.max)"], "--concurrency must be from 1 to 100000"),
        (["--header", "a b: c", "http://127.0.0.1:1/x"], "--header needs"),
        (["--header", "Range: bytes=0-9", "http://127.0.0.1:1/x"], "--header can't set Range"),
        (["--header", "if-range: x", "http://127.0.0.1:1/x"], "--header can't set if-range"),
        (["--list", "/"], "cannot read /: Is a directory"),
        (["--deadline", "nan"], "--deadline must be a positive number of seconds"),
        (["ftp//nonsense"], "nonsense"),
        (["\u{1B}[31m\u{9B}31m"], "\u{FFFD}[31m\u{FFFD}31m"),
        (["--list", "/nonexistent"], "cannot read /nonexistent: No such file or directory"),
        (["--directory", "/etc/passwd", "http://127.0.0.1:1/x"], "cannot create /etc/passwd"),
        (["--cacert", "/nonexistent", "http://127.0.0.1:1/x"], "/nonexistent can't be read"),
        (["--header", "Host: h", "http://127.0.0.1:1/x"], "--header can't set Host"),
        ([], "There is no file to download"),
        (["--quiet", ""], "There is no file to download"),
        (["--list", "/dev/null"], "There is no file to download"),
        (["-o", "/tmp", "http://127.0.0.1:1/x"], "/tmp is a folder"),
        (["-o", "x", "http://127.0.0.1:1/x", "http://127.0.0.1:1/y"], "is for one download"),
        (["--per-host", "0"], "--per-host must be at least 1"),
      ] {
        let ending = try await FetchProcess(arguments, in: scratch).ending()
        #expect(ending.status == 64, "\(arguments): \(ending.output)")
        #expect(ending.output.contains(message), "\(ending.output)")
      }
    }
  }

  @Test func version_isThatOfTheRepository() async throws {
    try await withFolders { _, scratch in
      let repository = URL(filePath: #filePath).appending(path: "../../../../..").standardized
      let version = try String(
        contentsOf: repository.appending(component: "VERSION"), encoding: .utf8)
      let ending = try await FetchProcess(["--version"], in: scratch).ending()
      #expect(ending.status == 0)
      #expect(ending.output == version)
    }
  }
}
