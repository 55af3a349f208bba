import Pledge

/// Finds the source location of a call stack: its first function outside the library.
///
/// Looking up a line takes long, so it's done once for each address that a location needs, when a
/// report first needs it. For the library's other functions, to which most addresses belong, the
/// name is enough.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
final class LocationFinder: Sendable {
  static let shared = LocationFinder()

  private struct State {
    private var lookup: AddressLookup?
    private var known: [UInt: [AddressLookup.Function]] = [:]
    private var isKnownToBeLibrary: [UInt: Bool] = [:]

    var lookupCount: Int { known.count }

    private mutating func withLookup<Result>(_ body: (AddressLookup) -> Result) -> Result {
      let lookup = self.lookup ?? AddressLookup()
      self.lookup = lookup
      return body(lookup)
    }

    mutating func functions(at address: UInt) -> [AddressLookup.Function] {
      if let functions = known[address] { return functions }
      let functions = withLookup { $0.functions(at: address) }
      known[address] = functions
      return functions
    }

    /// Returns whether the function at `address` certainly belongs to the library, and no other
    /// code is inlined there.
    mutating func isLibrary(_ address: UInt) -> Bool {
      if let result = isKnownToBeLibrary[address] { return result }
      let result = withLookup { $0.mangledName(at: address).map(MangledName.isOfLibrary) ?? false }
      isKnownToBeLibrary[address] = result
      return result
    }

    /// Returns the name of the operation that the innermost user function calls.
    ///
    /// - Parameter addresses: The addresses in the library's functions, innermost first.
    mutating func operation(calledThrough addresses: [UInt]) -> String? {
      for address in addresses.reversed() {
        if let name = OperationName.last(in: functions(at: address)) { return name }
      }
      return nil
    }
  }

  private let state = Mutex(State())

  /// The number of addresses whose lines were looked up.
  var lookupCount: Int { state.withLock { $0.lookupCount } }

  #if canImport(Glibc)
    func location(of callStack: CallStack) -> SourceLocation? {
      state.withLock { state in
        var library: [UInt] = []
        for address in callStack.addresses {
          if !state.isLibrary(address) {
            let functions = state.functions(at: address)
            if let index = functions.firstIndex(where: {
              !SourceLocation.isInLibrary(path: $0.file)
            }) {
              let function = functions[index]
              return SourceLocation(
                file: function.file, line: function.line, function: function.name,
                operation: OperationName.last(in: functions[..<index])
                  ?? state.operation(calledThrough: library))
            }
          }
          library.append(address)
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
  /// The public operators, by the functions that they call; the call stack contains only these
  /// functions if the optimizer inlined an operator into user code.
  private static let operators = [
    "mapped": "map", "chained": "then", "tapped": "tap", "gotten": "get", "finished": "finally",
    "finishedAfter": "finally", "recovered": "recover", "recoveredWithPromise": "recover",
    "recoveredEqual": "recover", "recoveredEqualWithPromise": "recover", "caught": "catch",
  ]

  /// Returns the operation of the last function that has one and isn't a part of the engine.
  ///
  /// The call stack doesn't contain inlined operators, only the functions that they called.
  static func last(in functions: some BidirectionalCollection<AddressLookup.Function>) -> String? {
    for function in functions.reversed() {
      let isEngine =
        SourceLocation.isInEngine(path: function.file) || function.name.contains("Tracing.tell")
      if !isEngine, SourceLocation.isInLibrary(path: function.file), let name = of(function) {
        return name
      }
    }
    return nil
  }

  /// Returns `map` for `Thenable.map<A, B>(on:_:)`; nil for an initializer, which is named after
  /// its type, and for a helper that several operators share.
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
