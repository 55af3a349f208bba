import Pledge

#if canImport(Runtime) && !canImport(Darwin)
  import Runtime
#endif

/// Where in the source something was done.
public struct Place: Sendable, Hashable, CustomStringConvertible {
  /// The path of the file, or module and file as `#fileID` gives them.
  public let file: String
  /// The line, counted from 1.
  public let line: Int
  /// The function that stands there, where it is known.
  public let function: String?
  /// The library's function that was called there, such as `map`, where it is known.
  public let operation: String?

  /// The file, with its folder, and the line: `Load/Profile.swift:12`.
  public var description: String {
    "\(file.split(separator: "/").suffix(2).joined(separator: "/")):\(line)"
  }

  init(_ origin: Origin) {
    self.init(file: origin.fileID, line: Int(origin.line), function: nil, operation: nil)
  }

  init(file: String, line: Int, function: String?, operation: String?) {
    self.file = file
    self.line = line
    self.function = function
    self.operation = operation
  }

  /// The modules that are not the user's code, beside those of this package.
  private static let dropIns = ["PromiseKit", "PMKFoundation", "Promises"]

  static func isInLibrary(fileID: String) -> Bool {
    guard let module = fileID.split(separator: "/").first else { return false }
    return libraryModules.contains(String(module)) || dropIns.contains(String(module))
  }

  private static let libraryModules = [
    "Pledge", "PledgeFoundation", "PledgeTesting", "PledgeDiagnostics",
  ]

  /// Where this package's sources were when it was compiled.
  private static let sources = String(
    #filePath.prefix(#filePath.count - "PledgeDiagnostics/Recording/Place.swift".count))

  /// Whether it is a part of the library that users do not call.
  static func isInEngine(path: String) -> Bool { engine.contains { path.hasPrefix($0) } }

  private static let engine = ["Pledge/Engine/", "Pledge/Diagnostics/", "PledgeDiagnostics/"]
    .map { sources + $0 }

  static func isInLibrary(path: String) -> Bool {
    path.hasPrefix(sources) || dropIns.contains { path.contains("/Sources/\($0)/") }
  }
}

#if canImport(Runtime) && !canImport(Darwin)
  /// Finds the place of a call stack: its first function that is not the library's.
  ///
  /// What stands at an address is looked up once, when a report first asks for it, as that takes
  /// milliseconds.
  final class PlaceFinder: Sendable {
    static let shared = PlaceFinder()

    private struct Function {
      let name: String
      let file: String
      let line: Int
    }

    /// The functions at an address, those that were inlined first; none where only the system's
    /// code is, which has no sources.
    private let known = Mutex<[Backtrace.Address: [Function]]>([:])

    func place(of callStack: CallStack) -> Place? {
      known.withLock { known in
        var operation: String?
        for address in callStack.addresses {
          let functions = known[address] ?? Self.functions(at: address)
          known[address] = functions
          for function in functions {
            if Place.isInLibrary(path: function.file) {
              // Operators that the optimizer inlined leave only what they called.
              let isEngine =
                Place.isInEngine(path: function.file) || function.name.contains("Tracing.tell")
              if isEngine { continue }
              operation = Self.baseName(function.name) ?? operation
            } else {
              return Place(
                file: function.file, line: function.line, function: function.name,
                operation: operation)
            }
          }
        }
        return nil
      }
    }

    private static func functions(at address: Backtrace.Address) -> [Function] {
      let frames = FrameTable.shared[address]?.symbolicated()?.frames ?? []
      return frames.compactMap { frame in
        guard frame.captured.originalProgramCounter == address, let symbol = frame.symbol,
          let location = symbol.sourceLocation, location.line > 0, location.path.hasPrefix("/")
        else { return nil }
        return Function(name: symbol.name, file: location.path, line: location.line)
      }
    }

    /// `map` of `Thenable.map<A, B>(on:_:)`; nil for an initializer, which is called by its type.
    static func baseName(_ name: String) -> String? {
      var depth = 0
      var plain = ""
      for character in name {
        if character == "(", depth == 0 { break }
        if character == "<" { depth += 1 }
        if depth == 0 { plain.append(character) }
        if character == ">" { depth -= 1 }
      }
      guard let base = plain.split(separator: ".").last, base != "init" else { return nil }
      return base.split(separator: " ").last.map(String.init)
    }
  }
#else
  /// Finds the place of a call stack: not on this platform.
  final class PlaceFinder: Sendable {
    static let shared = PlaceFinder()

    func place(of callStack: CallStack) -> Place? { nil }
  }
#endif
