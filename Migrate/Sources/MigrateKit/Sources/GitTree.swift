import Foundation

extension SourceTree {
  /// Reads the Swift files of a revision of a git repository: all of them, or those below `folder`,
  /// a folder or file in it.
  ///
  /// Files that `other`, another version of the tree, has with the same text aren't parsed again.
  public init(
    revision: String, repository: String, folder: String? = nil, sharing other: SourceTree? = nil
  ) throws {
    let prefix = try folder.map { try Git(repository).path(of: $0) } ?? ""
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
      let isInside = prefix.isEmpty || path == prefix || path.hasPrefix(prefix + "/")
      let holders = folders.filter { !$0.hasSuffix(".xcodeproj") }
      let isAbove = prefix.split(separator: "/").starts(with: holders)
      guard isInside || isAbove && BuildSettings.isSettingsFile(name) else { continue }
      entries.append((path, String(fields[2])))
    }
    let blobs = try Git(repository).blobs(entries.map(\.id))
    var settings = BuildSettings()
    var contents: [(String, String)] = []
    for (entry, bytes) in zip(entries, blobs) {
      if BuildSettings.isSettingsFile((entry.path as NSString).lastPathComponent),
        let source = try? StoredSource(bytes: bytes, path: entry.path)
      {
        settings.read(source.text)
      }
      let isInside = prefix.isEmpty || entry.path == prefix || entry.path.hasPrefix(prefix + "/")
      guard entry.path.hasSuffix(".swift"), isInside else { continue }
      let text = try StoredSource(bytes: bytes, path: entry.path).text
      if prefix.isEmpty {
        contents.append((entry.path, text))
      } else if entry.path == prefix {
        contents.append(((prefix as NSString).lastPathComponent, text))
      } else {
        contents.append((String(entry.path.dropFirst(prefix.count + 1)), text))
      }
    }
    if contents.isEmpty {
      throw MigrateError(
        "Revision '\(revision)' has no Swift files" + (folder.map { " in '\($0)'." } ?? "."))
    }
    self.init(contents: contents, settings: settings, sharing: other)
  }
}

/// A git repository, read with the `git` command.
struct Git {
  private let folder: String

  init(_ folder: String) { self.folder = folder }

  /// The path of a file or folder on disk inside the repository, or "" for its root.
  func path(of file: String) throws -> String {
    let root = String(decoding: try run("rev-parse", "--show-toplevel"), as: UTF8.self)
      .trimmingCharacters(in: .newlines)
    let top = URL(fileURLWithPath: root).resolvingSymlinksInPath().path
    let full = URL(fileURLWithPath: file).resolvingSymlinksInPath().path
    if full == top { return "" }
    guard full.hasPrefix(top + "/") else {
      throw MigrateError("'\(file)' isn't in the repository at '\(top)'. Pass --repository.")
    }
    return String(full.dropFirst(top.count + 1))
  }

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

  /// The contents of objects, in order.
  func blobs(_ ids: [String]) throws -> [Data] {
    let input = Data((ids.joined(separator: "\n") + "\n").utf8)
    let output = try run("cat-file", "--batch", input: input)
    var contents: [Data] = []
    var index = output.startIndex
    for id in ids {
      guard let end = output[index...].firstIndex(of: 10) else { break }
      let header = String(decoding: output[index..<end], as: UTF8.self).split(separator: " ")
      guard header.count == 3, let size = Int(header[2]) else {
        throw MigrateError("The repository has no object \(id); its copy may be incomplete.")
      }
      let start = end + 1
      contents.append(output[start..<(start + size)])
      index = start + size + 1
    }
    return contents
  }
}
