import Foundation

/// An empty folder that is removed with its contents when this object is deallocated.
final class ScratchFolder: Sendable {
  let url: URL

  init() {
    url = FileManager.default.temporaryDirectory.appending(
      component: "fetch tests – ü \(UUID().uuidString)", directoryHint: .isDirectory)
    try? FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  /// The path of the folder, with a slash at the end.
  var path: String { url.path(percentEncoded: false) }

  func path(_ name: String) -> String { path + name }
  func file(_ name: String) -> URL { url.appending(component: name, directoryHint: .notDirectory) }
  func text(_ name: String) throws -> String { try String(contentsOf: file(name), encoding: .utf8) }

  /// The names of the files in the folder, sorted.
  var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
  }
}
