import Pledge

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension Trace {
  /// A line of source code.
  public struct SourceLocation: Sendable, Hashable, CustomStringConvertible {
    /// The path of the file, or its module and name as in `#fileID`.
    public let file: String
    /// The line, counted from 1.
    public let line: Int
    /// The function that contains the line, if known.
    public let function: String?
    /// The library's function that the line calls, such as `map`, if known.
    public let operation: String?

    /// The file with its folder, and the line, such as `Load/Profile.swift:12`.
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

    /// The drop-in modules, which aren't the user's code.
    private static let dropIns = ["PromiseKit", "PMKFoundation", "Promises"]

    static func isInLibrary(fileID: String) -> Bool {
      guard let module = fileID.split(separator: "/").first else { return false }
      return libraryModules.contains(String(module)) || dropIns.contains(String(module))
    }

    private static let libraryModules = [
      "Pledge", "PledgeFoundation", "PledgeTesting", "PledgeDiagnostics",
    ]

    /// The path of this package's sources when it was compiled.
    private static let sources = String(
      #filePath.prefix(#filePath.count - "PledgeDiagnostics/Recording/SourceLocation.swift".count))

    static func isInLibrary(path: String) -> Bool {
      path.hasPrefix(sources) || dropIns.contains { path.contains("/Sources/\($0)/") }
    }
  }
}

/// A short name for internal use; if public, it would conflict with Swift Testing's type.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
typealias SourceLocation = Trace.SourceLocation
