import Foundation

/// A folder that is removed with its contents when this object is deallocated.
final class ScratchFolder: Sendable {
  /// The folder.
  let url: URL

  /// Creates an empty folder.
  init() throws {
    url = FileManager.default.temporaryDirectory.appending(
      component: "fetch tests – ü \(UUID().uuidString)", directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(at: url)
  }

  /// The path of the folder, with a slash at the end.
  var path: String { url.path(percentEncoded: false) }

  /// Returns the path of a file in the folder.
  func path(_ name: String) -> String { path + name }

  /// Returns the URL of a file in the folder.
  func file(_ name: String) -> URL {
    url.appending(component: name, directoryHint: .notDirectory)
  }

  /// Returns the contents of a text file in the folder.
  func text(_ name: String) throws -> String {
    try String(contentsOf: file(name), encoding: .utf8)
  }

  /// The names of the files in the folder, sorted.
  var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
  }
}
