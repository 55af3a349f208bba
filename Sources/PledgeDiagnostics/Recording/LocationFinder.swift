import Pledge

/// Finds the source location of a call stack: its first function outside the library.
///
/// An address is looked up once, when a report first needs it, because a lookup takes milliseconds.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
final class LocationFinder: Sendable {
  static let shared = LocationFinder()

  private struct State {
    var lookup: AddressLookup?
    var known: [UInt: [AddressLookup.Function]] = [:]

    mutating func functions(at address: UInt) -> [AddressLookup.Function] {
      if let functions = known[address] { return functions }
      let lookup = self.lookup ?? AddressLookup()
      self.lookup = lookup
      let functions = lookup.functions(at: address)
      known[address] = functions
      return functions
    }
  }

  private let state = Mutex(State())

  #if canImport(Glibc)
    func location(of callStack: CallStack) -> SourceLocation? {
      state.withLock { state in
        var operation: String?
        for address in callStack.addresses {
          for function in state.functions(at: address) {
            guard SourceLocation.isInLibrary(path: function.file) else {
              return SourceLocation(
                file: function.file, line: function.line, function: function.name,
                operation: operation)
            }
            // The call stack contains no operator that was inlined, only the functions it called.
            let isEngine =
              SourceLocation.isInEngine(path: function.file)
              || function.name.contains("Tracing.tell")
            if !isEngine { operation = OperationName.of(function) ?? operation }
          }
        }
        return nil
      }
    }
  #else
    func location(of callStack: CallStack) -> SourceLocation? { nil }
  #endif
}

/// The name of an operation, derived from a function on its call stack.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
enum OperationName {
  /// The public operators, by the functions that they call; the call stack contains only these if
  /// the optimizer inlined an operator into the program.
  private static let operators = [
    "mapped": "map", "chained": "then", "tapped": "tap", "gotten": "get", "finished": "finally",
    "finishedAfter": "finally", "recovered": "recover", "recoveredWithPromise": "recover",
    "recoveredEqual": "recover", "recoveredEqualWithPromise": "recover", "caught": "catch",
  ]

  /// Returns `map` for `Thenable.map<A, B>(on:_:)`; nil for an initializer, which is named after its
  /// type, and for a helper that several operators share.
  static func of(_ function: AddressLookup.Function) -> String? {
    guard let name = baseName(function.name), name != "start", name != "derive" else { return nil }
    return operators[name] ?? name
  }

  /// Returns the name without its type, arguments, and generic parameters.
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
