import Foundation

/// A folder that is removed with its contents when this object is deallocated.
public final class ScratchFolder: Sendable {
  /// The folder.
  public let url: URL

  /// Creates an empty folder.
  public init() throws {
    url = FileManager.default.temporaryDirectory.appending(
      component: "fetch tests – ü \(UUID().uuidString)", directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(at: url)
  }

  /// The path of the folder, with a slash at the end.
  public var path: String { url.path(percentEncoded: false) }

  /// Returns the path of a file in the folder.
  public func path(_ name: String) -> String { path + name }

  /// Returns the URL of a file in the folder.
  public func file(_ name: String) -> URL {
    url.appending(component: name, directoryHint: .notDirectory)
  }

  /// Returns the contents of a text file in the folder.
  public func text(_ name: String) throws -> String {
    try String(contentsOf: file(name), encoding: .utf8)
  }

  /// The names of the files in the folder, sorted.
  public var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
  }
}
