import Pledge

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension Trace {
  /// A line of the source: where something was done.
  public struct SourceLocation: Sendable, Hashable, CustomStringConvertible {
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

    init(_ origin: PromiseDiagnostics.SourceLocation) {
      self.init(
        file: origin.fileID, line: Int(clamping: origin.line), function: nil, operation: nil)
    }

    init(file: String, line: Int, function: String?, operation: String?) {
      self.file = file
      self.line = line
      self.function = function
      self.operation = operation
    }

    /// The modules that are not the user's code, besides those of this package.
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
      #filePath.prefix(#filePath.count - "PledgeDiagnostics/Recording/SourceLocation.swift".count))

    /// Whether it is a part of the library that users do not call.
    static func isInEngine(path: String) -> Bool { engine.contains { path.hasPrefix($0) } }

    private static let engine = ["Pledge/Engine/", "Pledge/Diagnostics/", "PledgeDiagnostics/"]
      .map { sources + $0 }

    static func isInLibrary(path: String) -> Bool {
      path.hasPrefix(sources) || dropIns.contains { path.contains("/Sources/\($0)/") }
    }
  }
}

/// The package calls it by its plain name, which a program cannot use: Swift Testing has it, too.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
typealias SourceLocation = Trace.SourceLocation
