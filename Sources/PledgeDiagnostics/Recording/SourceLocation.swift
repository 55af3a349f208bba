import Pledge

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
      // Fast, because trees and pages contain one for each promise.
      let bytes = file.utf8
      let folder = bytes.lastIndex(of: UInt8(ascii: "/")).map { bytes[..<$0] }
      let start = folder.flatMap { $0.lastIndex(of: UInt8(ascii: "/")) }.map(bytes.index(after:))
      return "\(file[(start ?? bytes.startIndex)...]):\(line)"
    }

    /// The drop-in modules, which aren't the user's code.
    private static let dropIns = ["PromiseKit", "PMKFoundation", "Promises"]

    private static let modules = libraryModules + dropIns
    static let libraryModules = [
      "Pledge", "PledgeFoundation", "PledgeTesting", "PledgeDiagnostics", "PledgeNIO",
    ]

    private static let prefixes = modules.map { Array("\($0)/".utf8) }

    static func isInLibrary(_ origin: PromiseDiagnostics.SourceLocation) -> Bool {
      let name = origin.fileBytes
      // Byte by byte, because the name ends at a zero.
      return prefixes.contains { prefix in prefix.indices.allSatisfy { name[$0] == prefix[$0] } }
    }

    /// The path of this package's sources when it was compiled.
    private static let sources = String(
      #filePath.prefix(#filePath.count - "PledgeDiagnostics/Recording/SourceLocation.swift".count))

    static func isInLibrary(path: String) -> Bool {
      path.hasPrefix(sources) || path.contains("/Integrations/PledgeNIO/")
        || dropIns.contains { path.contains("/Sources/\($0)/") }
    }
  }
}

/// A short name for internal use; if public, it would conflict with Swift Testing's type.
typealias SourceLocation = Trace.SourceLocation
