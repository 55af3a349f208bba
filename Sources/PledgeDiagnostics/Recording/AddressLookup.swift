// Apple's Runtime module has this from macOS 26 on, which is above the package's floor.
#if canImport(Runtime) && canImport(Glibc)
  import Foundation
  import Runtime

  /// Looks up what stands at an address of code, in the program's debugging information.
  struct AddressLookup: Sendable {
    /// A function, or a part of one that was inlined there.
    struct Function: Sendable {
      let name: String
      let file: String
      let line: Int
    }

    /// The images of the process, found once as that takes long; code that is loaded later has no
    /// place.
    private let images = ImageMap.capture()

    /// The mangled name of the function at a return address, if it's known.
    ///
    /// Takes microseconds: it doesn't read the program's line tables.
    func mangledName(at address: UInt) -> String? {
      Self.backtrace(of: address)?.symbolicated(with: images, options: [])?.frames.first?.symbol?
        .rawName
    }

    /// The functions at a return address, those that were inlined first; none where only the
    /// system's code is, which has no sources.
    ///
    /// Takes up to a tenth of a second in a large program: it reads the line tables of all its files.
    func functions(at address: UInt) -> [Function] {
      guard let backtrace = Self.backtrace(of: address) else { return [] }
      let frames = backtrace.symbolicated(with: images).map { Array($0.frames) } ?? []
      return frames.compactMap { frame in
        guard let symbol = frame.symbol, let location = symbol.sourceLocation, location.line > 0,
          location.path.hasPrefix("/")
        else { return nil }
        return Function(name: symbol.name, file: location.path, line: location.line)
      }
    }

    /// A backtrace of one frame.
    ///
    /// A `Backtrace` can only be captured or decoded. This encodes one: the size of a word, the mark
    /// of a return address of that size, the address from its highest byte on, and the mark of the
    /// end. Should the format ever change, the frame has another address, or none, and no place.
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

    #if arch(x86_64)
      private static let architecture = "x86_64"
    #elseif arch(arm64)
      private static let architecture = "aarch64"
    #else
      private static let architecture = "unknown"
    #endif
  }
#else
  /// Looks up what stands at an address of code: not on this platform.
  struct AddressLookup: Sendable {
    struct Function: Sendable {
      let name: String
      let file: String
      let line: Int
    }

    func mangledName(at address: UInt) -> String? { nil }
    func functions(at address: UInt) -> [Function] { [] }
  }
#endif
