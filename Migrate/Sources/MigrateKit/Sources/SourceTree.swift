import Foundation

/// The Swift files of a folder, a file, or a revision of a repository.
public struct SourceTree: Sendable {
  /// The parsed files, sorted by path.
  public let files: [SourceFile]
  /// Texts of project files that decide the default isolation.
  public let settings: BuildSettings
  /// The index of a build, if there is one.
  public var index: IndexStore?
  /// The path of the file that is described or converted; nil for all.
  ///
  /// The other files are there for their declarations and settings.
  public var focus: String?
  /// The files that can't be read reliably, with reasons.
  public let problems: [FileProblem]

  /// Parses files that have been read, on all cores.
  ///
  /// Files that `other`, another version of the tree, has with the same text aren't parsed again.
  public init(
    contents: [(path: String, text: String)], settings: BuildSettings = BuildSettings(),
    sharing other: SourceTree? = nil
  ) {
    let sorted = contents.sorted { $0.path < $1.path }
    let slots = ParsedFiles(count: sorted.count)
    let known = Dictionary((other?.files ?? []).map { ($0.path, $0) }) { first, _ in first }
    DispatchQueue.concurrentPerform(iterations: sorted.count) { index in
      let (path, text) = sorted[index]
      // Strings that differ in the composition of characters are equal, too.
      if let file = known[path], file.text.utf8.elementsEqual(text.utf8) {
        slots.set(index, file)
      } else {
        slots.set(index, SourceFile(path: path, text: text))
      }
    }
    files = Self.withoutLibraries(slots.files)
    self.settings = settings
    problems = files.flatMap(\.problems)
  }

  /// Reads the Swift files below `path`, or the file at `path`.
  ///
  /// Folders of dependencies and build products are left out. Files that `other`, another version of
  /// the tree, has with the same text aren't parsed again.
  public init(path: String, sharing other: SourceTree? = nil) throws {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
      throw MigrateError("There is no file or folder at '\(path)'.")
    }
    if !isFolder.boolValue {
      self.init(
        contents: [((path as NSString).lastPathComponent, try StoredSource(path: path).text)],
        settings: BuildSettings(above: URL(fileURLWithPath: path)), sharing: other)
      return
    }
    var contents: [(String, String)] = []
    var settings = BuildSettings(above: URL(fileURLWithPath: path))
    let root = URL(fileURLWithPath: path).resolvingSymlinksInPath()
    let walk = FileManager.default.enumerator(atPath: root.path)
    while let name = walk?.nextObject() as? String {
      let last = (name as NSString).lastPathComponent
      if Self.isSkipped(last) { walk?.skipDescendants() }
      let full = root.appendingPathComponent(name).path
      if BuildSettings.isSettingsFile(last), let source = try? StoredSource(path: full) {
        settings.read(source.text)
      }
      guard last.hasSuffix(".swift"), !Self.isSkipped(last) else { continue }
      contents.append((name, try StoredSource(path: full).text))
    }
    if contents.isEmpty { throw MigrateError("There are no Swift files in '\(path)'.") }
    self.init(contents: contents, settings: settings, sharing: other)
  }

  /// Reads the file at `path` with the repository or project around it, and returns the folder of
  /// that; for a folder, reads only this folder.
  public static func around(_ path: String) throws -> (tree: SourceTree, root: String) {
    let file = URL(fileURLWithPath: path).resolvingSymlinksInPath()
    var isFolder: ObjCBool = false
    let exists = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
    guard exists, !isFolder.boolValue, let folder = project(of: file) else {
      return (try SourceTree(path: path), path)
    }
    let name = String(file.path.dropFirst(folder.path.count + 1))
    var tree = try SourceTree(path: folder.path)
    guard tree.files.contains(where: { $0.path == name }) else {
      return (try SourceTree(path: path), path)
    }
    tree.focus = name
    return (tree, folder.path)
  }

  /// Leaves out the folders with copies of the libraries, if there are other files.
  private static func withoutLibraries(_ files: [SourceFile]) -> [SourceFile] {
    let folders = files.filter { $0.declaredTypes.contains("Promise") }.map { file in
      file.path.lastIndex(of: "/").map { String(file.path[...$0]) } ?? ""
    }
    let libraries = folders.filter { folder in
      let own = files.filter { $0.path.hasPrefix(folder) }
      let types = own.reduce(into: Set<String>()) { $0.formUnion($1.declaredTypes) }
      return types.isSuperset(of: ["Guarantee", "Thenable"])
        || own.contains { $0.imports.contains("FBLPromises") }
    }
    let rest = files.filter { file in !libraries.contains { file.path.hasPrefix($0) } }
    return rest.isEmpty ? files : rest
  }

  /// The root of the repository that has a file; without one, the folder of its package or project.
  private static func project(of file: URL) -> URL? {
    var folder = file.deletingLastPathComponent()
    var project: URL?
    while folder.path != "/" {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
      if names.contains(".git") { return folder }
      let isProject = names.contains { $0 == "Package.swift" || $0.hasSuffix(".xcodeproj") }
      if isProject, project == nil { project = folder }
      folder.deleteLastPathComponent()
    }
    return project
  }

  /// The files that are described or converted.
  var focusedFiles: [SourceFile] { files.filter { focus == nil || $0.path == focus } }

  static func isSkipped(_ folder: String) -> Bool {
    folder.hasPrefix(".") || ["Pods", "Carthage", "DerivedData", "checkouts"].contains(folder)
  }
}

/// An error with a message for the user.
public struct MigrateError: Error, CustomStringConvertible {
  /// What was wrong, and what to do.
  public let description: String

  /// Creates an error with a message.
  public init(_ description: String) { self.description = description }
}

// `@unchecked Sendable`: each index is written by one iteration, and read after all have ended.
private final class ParsedFiles: @unchecked Sendable {
  private let slots: UnsafeMutablePointer<SourceFile?>
  private let count: Int

  init(count: Int) {
    self.count = count
    slots = .allocate(capacity: count)
    slots.initialize(repeating: nil, count: count)
  }

  deinit {
    slots.deinitialize(count: count)
    slots.deallocate()
  }

  func set(_ index: Int, _ file: SourceFile) { slots[index] = file }

  var files: [SourceFile] { (0..<count).compactMap { slots[$0] } }
}

/// The settings of a build that decide where `async` functions run.
public struct BuildSettings: Sendable {
  /// Whether declarations without an isolation are on the main actor.
  public var isMainActorByDefault = false
  /// Whether nonisolated `async` functions run on their caller's executor.
  public var isNonsendingByDefault = false

  /// Creates the settings of a plain build.
  public init() {}

  /// The settings of the package or project to which a file or folder belongs: the nearest one above
  /// it, in its repository.
  init(above path: URL) {
    var folder = path.resolvingSymlinksInPath()
    let files = FileManager.default
    func isRoot(_ folder: URL) -> Bool {
      folder.path == "/" || files.fileExists(atPath: folder.appendingPathComponent(".git").path)
    }
    while !isRoot(folder) {
      folder.deleteLastPathComponent()
      let names = (try? files.contentsOfDirectory(atPath: folder.path)) ?? []
      let projects = names.filter { $0.hasSuffix(".xcodeproj") }.map { $0 + "/project.pbxproj" }
      let found = projects + names.filter(Self.isSettingsFile)
      for name in found {
        if let source = try? StoredSource(path: folder.appendingPathComponent(name).path) {
          read(source.text)
        }
      }
      if !found.isEmpty { return }
    }
  }

  static func isSettingsFile(_ name: String) -> Bool {
    name.hasPrefix("Package") && name.hasSuffix(".swift") || name == "project.pbxproj"
      || name.hasSuffix(".xcconfig")
  }

  mutating func read(_ text: String) {
    if text.contains(".defaultIsolation(MainActor.self)")
      || text.contains("SWIFT_DEFAULT_ACTOR_ISOLATION = MainActor")
    {
      isMainActorByDefault = true
    }
    if text.contains("NonisolatedNonsendingByDefault")
      || text.contains("SWIFT_APPROACHABLE_CONCURRENCY = YES")
    {
      isNonsendingByDefault = true
    }
  }
}
