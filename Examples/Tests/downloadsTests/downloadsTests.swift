import Foundation
import LoopbackServer
import Pledge
import PledgeTesting
import Testing
import UnreliableMirror

@testable import downloads

@MainActor
@Suite struct DownloadsTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "test-\(UUID())")

  /// Downloads all files from mirrors with these faults, and returns the names of those that failed.
  private func download(
    _ files: MirroredFiles, from scripts: UnreliableMirror.Script...
  ) async throws -> (failed: [String], ends: [String: Int]) {
    var mirrors: [LoopbackServer] = []
    for script in scripts { mirrors.append(try UnreliableMirror.start(files, fault: script)) }
    let downloads = try Downloads(from: mirrors.map(\.url), to: folder) { _ in }
    downloads.policy = .fixed(attempts: 3, delay: .zero)
    let failed = try await downloads.run().value
    return (failed, downloads.ends)
  }

  private func saved() throws -> [String: Data] {
    var files: [String: Data] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      files[name] = try Data(contentsOf: folder.appending(path: name))
    }
    return files
  }

  @Test func files_whenEachMirrorFailsAtFirst_areCorrect() async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let files = MirroredFiles.make(count: 6)
    let faults: [UnreliableMirror.Fault] = [.wrongByte, .cutOff]
    let (failed, ends) = try await download(
      files,
      from: { name, request in name != "CHECKSUMS" && request == 1 ? faults[0] : nil },
      { name, request in name != "CHECKSUMS" && request == 1 ? faults[1] : nil })
    #expect(failed.isEmpty)
    #expect(try saved() == files.contents)
    #expect(ends["wrong checksum", default: 0] >= 6)
  }

  @Test func run_whenTheListIsEmpty_fails() async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    await #expect(throws: PromiseError.self) {
      try await download(MirroredFiles(contents: [:], checksums: Data()), from: { _, _ in nil })
    }
  }

  @Test func file_whenAllMirrorsSendWrongBytes_isMissing_andTheOthersAreSaved() async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let files = MirroredFiles.make(count: 3)
    let (failed, _) = try await download(
      files, from: { name, _ in name == "file-02.bin" ? .wrongByte : nil })
    #expect(failed == ["file-02.bin"])
    var others = files.contents
    others["file-02.bin"] = nil
    #expect(try saved() == others)
  }
}
