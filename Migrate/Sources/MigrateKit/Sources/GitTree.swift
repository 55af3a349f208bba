import Foundation

extension SourceTree {
  /// Reads the Swift files of a revision of a git repository.
  public init(revision: String, repository: String) throws {
    let listing = try Git(repository).run("ls-tree", "-r", "-z", "--full-tree", revision)
    var entries: [(path: String, id: String)] = []
    for entry in listing.split(separator: 0) {
      let parts = String(decoding: entry, as: UTF8.self).split(separator: "\t", maxSplits: 1)
      let fields = parts.first?.split(separator: " ") ?? []
      guard parts.count == 2, fields.count == 3, fields[1] == "blob" else { continue }
      let path = String(parts[1])
      let folders = path.split(separator: "/").dropLast()
      if folders.contains(where: { Self.isSkipped(String($0)) }) { continue }
      let name = path.split(separator: "/").last.map(String.init) ?? path
      guard name.hasSuffix(".swift") || BuildSettings.isSettingsFile(name) else { continue }
      entries.append((path, String(fields[2])))
    }
    if !entries.contains(where: { $0.path.hasSuffix(".swift") }) {
      throw MigrateError("Revision '\(revision)' has no Swift files.")
    }
    let blobs = try Git(repository).blobs(entries.map(\.id))
    var settings = BuildSettings()
    var contents: [(String, String)] = []
    for (entry, text) in zip(entries, blobs) {
      if BuildSettings.isSettingsFile((entry.path as NSString).lastPathComponent) {
        settings.read(text)
      }
      if entry.path.hasSuffix(".swift") { contents.append((entry.path, text)) }
    }
    self.init(contents: contents, settings: settings)
  }
}

/// A git repository, read with the `git` command.
struct Git {
  private let folder: String

  init(_ folder: String) { self.folder = folder }

  func run(_ arguments: String..., input: Data = Data()) throws -> Data {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["git", "-C", folder] + arguments
    let output = FileManager.default.temporaryDirectory
      .appendingPathComponent("pledge-migrate-\(UUID().uuidString)")
    let inputFile = output.appendingPathExtension("in")
    try input.write(to: inputFile)
    try Data().write(to: output)
    defer {
      try? FileManager.default.removeItem(at: output)
      try? FileManager.default.removeItem(at: inputFile)
    }
    process.standardInput = try FileHandle(forReadingFrom: inputFile)
    process.standardOutput = try FileHandle(forWritingTo: output)
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw MigrateError(
        "'git \(arguments.joined(separator: " "))' failed in '\(folder)'. Is it a repository that"
          + " has this revision?")
    }
    return try Data(contentsOf: output)
  }

  /// The texts of objects, in order.
  func blobs(_ ids: [String]) throws -> [String] {
    let input = Data((ids.joined(separator: "\n") + "\n").utf8)
    let output = try run("cat-file", "--batch", input: input)
    var texts: [String] = []
    var index = output.startIndex
    for id in ids {
      guard let end = output[index...].firstIndex(of: 10) else { break }
      let header = String(decoding: output[index..<end], as: UTF8.self).split(separator: " ")
      guard header.count == 3, let size = Int(header[2]) else {
        throw MigrateError("The repository has no object \(id); its copy may be incomplete.")
      }
      let start = end + 1
      texts.append(String(decoding: output[start..<(start + size)], as: UTF8.self))
      index = start + size + 1
    }
    return texts
  }
}
