import Foundation

/// A folder that is removed with its contents when this object is deallocated.
final class ScratchFolder: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appending(
      component: "fetch-tests-\(UUID().uuidString)", directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(at: url)
  }

  func file(_ name: String) -> URL {
    url.appending(component: name, directoryHint: .notDirectory)
  }

  /// The path of a file in the folder; for an empty name, that of the folder with a slash.
  func path(_ name: String) -> String { url.path(percentEncoded: false) + name }

  var names: [String] {
    get throws {
      try FileManager.default.contentsOfDirectory(atPath: url.path(percentEncoded: false)).sorted()
    }
  }
}
