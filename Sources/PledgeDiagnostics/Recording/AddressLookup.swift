// Apple's Runtime module provides this since macOS 26, which is above the package's minimum.
#if canImport(Runtime) && canImport(Glibc)
  import Foundation
  import Runtime

  /// Looks up the functions at a code address in the program's debug information.
  struct AddressLookup: Sendable {
    /// The images of the process, which are found once because that takes long; code that is loaded
    /// later has no location.
    private let images = ImageMap.capture()

    /// Returns the mangled name of the function at a return address, if it's known.
    ///
    /// This takes microseconds, because it doesn't read the program's line tables.
    func mangledName(at address: UInt) -> String? {
      Self.backtrace(of: address)?.symbolicated(with: images, options: [])?.frames.first?.symbol?
        .rawName
    }

    /// Returns the functions at a return address, inlined ones first; none for system code, which
    /// has no sources.
    ///
    /// This takes up to a tenth of a second in a large program, because it reads the line tables of
    /// all its files.
    func functions(at address: UInt) -> [Function] {
      guard let backtrace = Self.backtrace(of: address) else { return [] }
      let frames = backtrace.symbolicated(with: images).map { Array($0.frames) } ?? []
      return frames.compactMap { frame in
        guard let symbol = frame.symbol else { return nil }
        let path = symbol.sourceLocation?.path ?? ""
        let line = symbol.sourceLocation?.line ?? 0
        // The optimizer's copies of functions have no line.
        let isLibrary =
          line > 0 && SourceLocation.isInLibrary(path: path)
          || line == 0 && MangledName.isOfLibrary(copy: symbol.rawName)
        guard isLibrary || line > 0 && path.hasPrefix("/") else { return nil }
        return Function(name: symbol.name, file: path, line: line, isLibrary: isLibrary)
      }
    }

    /// Returns a backtrace with one frame.
    ///
    /// A `Backtrace` can only be captured or decoded. This function encodes one: the size of a
    /// word, the marker of a return address of that size, the address in big-endian byte order, and
    /// the end marker. If the format changes, the decoded frame has another address, or none, and
    /// the result is nil.
    private static func backtrace(of address: UInt) -> Backtrace? {
      let size = UInt.bitWidth / 8
      let bytes = (0..<size).reversed().map { UInt8(truncatingIfNeeded: address >> ($0 * 8)) }
      let text = Data([size == 8 ? 2 : 1, 0x28 + UInt8(size - 1)] + bytes + [0])
        .base64EncodedString()
      let json = #"{"architecture":"\#(architecture)","backtrace":"\#(text)"}"#
      guard let backtrace = try? JSONDecoder().decode(Backtrace.self, from: Data(json.utf8)),
        let frame = Array(backtrace.frames).first,
        UInt(frame.originalProgramCounter) == address
      else { return nil }
      return backtrace
    }

    #if arch(arm64)
      private static let architecture = "aarch64"
    #else
      private static let architecture = "x86_64"
    #endif
  }
#else
  /// Looks up the functions at a code address, which isn't possible on this platform.
  struct AddressLookup: Sendable {
    func mangledName(at address: UInt) -> String? { nil }
    func functions(at address: UInt) -> [Function] { [] }
  }
#endif

extension AddressLookup {
  /// A function, or a part of one that was inlined.
  struct Function: Sendable {
    let name: String
    let file: String
    let line: Int
    let isLibrary: Bool
  }
}
