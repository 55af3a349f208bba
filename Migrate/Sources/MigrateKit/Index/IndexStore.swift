import CIndexReader
import Foundation

/// What a build's index says about the calls in its files.
public struct IndexStore: Sendable {
  /// The USRs of the symbols at a place, by path, line, and column.
  private let symbols: [String: [Int: [String]]]
  /// The files that have been changed since the build: nothing is read for them.
  public let outdated: Set<String>

  /// Reads the index store at `path`, as `swift build` writes it to `.build/debug/index/store`.
  ///
  /// `library` is the path of `libIndexStore`; by default, that of the toolchain in the search path.
  public init(path: String, library: String? = nil) throws {
    guard FileManager.default.fileExists(atPath: path) else {
      throw MigrateError(
        "There is no index store at '\(path)'. Build first, or leave out --index-store.")
    }
    guard let library = library ?? Self.toolchainLibrary else {
      throw MigrateError("libIndexStore isn't found. Pass its path with --index-library.")
    }
    let collector = Collector()
    let message = read_index(
      library, path, Unmanaged.passUnretained(collector).toOpaque(),
      { context, path, line, column, name, usr in
        guard let context else { return }
        let collector = Unmanaged<Collector>.fromOpaque(context).takeUnretainedValue()
        collector.add(path, line, column, name, usr)
      },
      { context, path in
        guard let context else { return }
        Unmanaged<Collector>.fromOpaque(context).takeUnretainedValue().addOutdated(path)
      })
    if let message {
      throw MigrateError("'\(path)': \(String(cString: message)) (with '\(library)').")
    }
    symbols = collector.symbols
    outdated = collector.outdated
  }

  /// The module that declares the symbol at a place; nil if the index doesn't have the place.
  ///
  /// `path` is relative to the root of the tree.
  func module(path: String, line: Int, column: Int) -> String? {
    symbol(path: path, line: line, column: column).map(Self.module)
  }

  /// The USR of the symbol at a place.
  func symbol(path: String, line: Int, column: Int) -> String? {
    symbols[path]?[line << 12 | column]?.first
  }

  /// The index for a tree at `root`: paths become relative to it.
  public func relative(to root: String) -> IndexStore {
    let base = URL(fileURLWithPath: root).resolvingSymlinksInPath().path
    var isFolder: ObjCBool = false
    _ = FileManager.default.fileExists(atPath: base, isDirectory: &isFolder)
    let prefix =
      isFolder.boolValue ? base + "/" : (base as NSString).deletingLastPathComponent + "/"
    func relative(_ path: String) -> String? {
      let full = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
      return full.hasPrefix(prefix) ? String(full.dropFirst(prefix.count)) : nil
    }
    var own: [String: [Int: [String]]] = [:]
    for (path, places) in symbols {
      if let name = relative(path) { own[name] = places }
    }
    return IndexStore(symbols: own, outdated: Set(outdated.compactMap(relative)))
  }

  /// Whether the index has no operators.
  public var isEmpty: Bool { symbols.isEmpty && outdated.isEmpty }

  private init(symbols: [String: [Int: [String]]], outdated: Set<String>) {
    self.symbols = symbols
    self.outdated = outdated
  }

  /// The module in a Swift USR: `s:10PromiseKit8ThenableP…`; standard library types are shortened.
  private static func module(_ usr: String) -> String {
    guard usr.hasPrefix("s:") else { return "" }
    let rest = usr.dropFirst(2)
    let digits = rest.prefix(while: \.isNumber)
    guard let length = Int(digits) else { return "Swift" }
    return String(rest.dropFirst(digits.count).prefix(length))
  }

  private static var toolchainLibrary: String? {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    for folder in folders {
      let swift = URL(fileURLWithPath: String(folder)).appendingPathComponent("swift")
      guard FileManager.default.isExecutableFile(atPath: swift.path) else { continue }
      let root = swift.resolvingSymlinksInPath().deletingLastPathComponent()
        .deletingLastPathComponent()
      for name in ["lib/libIndexStore.so", "lib/libIndexStore.dylib"] {
        let library = root.appendingPathComponent(name).path
        if FileManager.default.fileExists(atPath: library) { return library }
      }
    }
    return nil
  }
}

/// Collects the occurrences of operators.
private final class Collector {
  var symbols: [String: [Int: [String]]] = [:]
  var outdated: Set<String> = []
  private static let names = Operators.allNames

  func addOutdated(_ path: index_text) { outdated.insert(Self.text(path)) }

  func add(
    _ path: index_text, _ line: UInt32, _ column: UInt32, _ name: index_text, _ usr: index_text
  ) {
    let base = Self.text(name).prefix { $0 != "(" }
    guard Self.names.contains(String(base)) else { return }
    symbols[Self.text(path), default: [:]][Int(line) << 12 | Int(column), default: []]
      .append(Self.text(usr))
  }

  private static func text(_ text: index_text) -> String {
    String(
      decoding: UnsafeRawBufferPointer(start: text.data, count: text.length), as: UTF8.self)
  }
}
