import Foundation
import PledgeTesting
import Testing

@testable import workers

private let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
private let hello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

@Suite struct FileTests {
  /// Calls `body` with a folder that is removed afterward.
  private func withFolder(_ body: (URL) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder)
  }

  private func names(in folder: URL) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path)
  }

  @Test func list_isReadAsSHA256SumWritesIt() throws {
    let files = try FileList.read(
      "\(empty)  http://host/a\n\n\(hello.uppercased()) https://host/folder/b?c=d\n")
    #expect(files.map(\.name) == ["a", "b"])
    #expect(files.map(\.sha256) == [empty, hello])
  }

  @Test(arguments: [
    "http://host/a", "\(empty.dropLast())  http://host/a", "\(empty)  file:///a",
    "\(empty)  http://host/", "\(empty)  http://host/a\n\(empty)  http://other/a",
  ])
  func listThatIsWrong_isRejected(text: String) {
    #expect(throws: ListError.self) { try FileList.read(text) }
  }

  @Test func address_hasAHostAndAPort() {
    #expect(Address("10.0.0.7:4000")?.description == "10.0.0.7:4000")
    for text in ["4000", ":4000", "host:", "host:70000", "host:x"] { #expect(Address(text) == nil) }
  }

  @Test func fileThatIsComplete_getsItsName() async throws {
    try await withFolder { folder in
      let file = try ArrivingFile(folder.appendingPathComponent("hello"))
      try file.write(Array("he".utf8))
      try file.write(Array("llo".utf8))
      #expect(try names(in: folder).allSatisfy { $0.hasPrefix(".hello.") })
      #expect(try file.finish(expecting: hello) == 5)
      file.discard()
      #expect(try names(in: folder) == ["hello"])
      let content = try Data(contentsOf: folder.appendingPathComponent("hello"))
      #expect(content == Data("hello".utf8))
    }
  }

  @Test func fileThatIsWrong_isRemoved() async throws {
    try await withFolder { folder in
      let file = try ArrivingFile(folder.appendingPathComponent("hello"))
      try file.write(Array("help".utf8))
      #expect(throws: WrongChecksumError.self) { try file.finish(expecting: hello) }
      file.discard()
      #expect(try names(in: folder) == [])
    }
  }

  @Test func leftovers_areRemoved_onceNoCoordinatorIsAtWork() async throws {
    try await withFolder { folder in
      func place(_ name: String) throws {
        try Data("he".utf8).write(to: folder.appendingPathComponent(name))
      }
      let others = [".hello.part", ".hidden", "hello", "hello.\(UUID()).part"]
      for name in others { try place(name) }
      let first = try OutputFolder(folder)
      let arriving = try ArrivingFile(folder.appendingPathComponent("a.b"))
      #expect(try names(in: folder).count == others.count + 1)

      // The first coordinator is still running, so the file may be one of its own.
      let second = try OutputFolder(folder)
      #expect(try names(in: folder).count == others.count + 1)
      withExtendedLifetime((first, second, arriving)) {}
    }
    try await withFolder { folder in
      // The state that a killed coordinator leaves: no lock, and a hidden file.
      _ = try ArrivingFile(folder.appendingPathComponent("a.b"))
      #expect(try names(in: folder).count == 1)
      let next = try OutputFolder(folder)
      #expect(try names(in: folder) == [])
      withExtendedLifetime(next) {}
    }
  }

  @Test func filesOfAnEarlierRun_areKept_ifTheyAreRight() async throws {
    try await withFolder { folder in
      try Data("hello".utf8).write(to: folder.appendingPathComponent("right"))
      try Data("help".utf8).write(to: folder.appendingPathComponent("wrong"))
      let worker = try Worker(try #require(Address("127.0.0.1:1")), files: 2)
      let connection = worker.connect()
      let coordinator = Coordinator(
        [worker], filesPerWorker: 2, folder: try OutputFolder(folder), patience: .seconds(10),
        limit: .milliseconds(300))
      let files = try ["right", "wrong"].map { name in
        ListedFile(sha256: hello, url: try #require(URL(string: "http://127.0.0.1:1/\(name)")))
      }
      let report = try await expectFulfillment(of: coordinator.fetch(files))
      #expect(report.files == 1 && report.kept == 1 && report.bytes == 5)
      #expect(report.failures.map(\.file.name) == ["wrong"])
      connection.cancel()
    }
  }

  @Test func workersThatAreNotThere_areNamed() async throws {
    try await withFolder { folder in
      // No server listens on this port.
      let address = try #require(Address("127.0.0.1:1"))
      let worker = try Worker(address, files: 2)
      let connection = worker.connect()
      let coordinator = Coordinator(
        [worker], filesPerWorker: 2, folder: try OutputFolder(folder), patience: .seconds(10),
        limit: .milliseconds(300))
      let file = ListedFile(sha256: empty, url: try #require(URL(string: "http://127.0.0.1:1/a")))
      let report = try await expectFulfillment(of: coordinator.fetch([file]))
      #expect(report.files == 0)
      #expect(report.takenBack > 0)
      #expect(
        "\(try #require(report.failures.first).error)".contains("worker 127.0.0.1:1 is unavailable")
      )
      #expect(try names(in: folder) == [])
      connection.cancel()
    }
  }
}
