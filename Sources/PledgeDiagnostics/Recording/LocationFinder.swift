import Pledge

/// Finds the source location of a call stack: its first function outside the library.
///
/// Looking up a line takes long, so it's done once for each address that a location needs, when a
/// report first needs it. For the library's other functions, to which most addresses belong, the
/// name is enough.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
final class LocationFinder: Sendable {
  static let shared = LocationFinder()

  fileprivate struct State {
    private var lookup: AddressLookup?
    private var known: [UInt: [AddressLookup.Function]] = [:]
    private var isKnownToBeLibrary: [UInt: Bool] = [:]
    /// The locations of call stacks, by their keys.
    private var locations: [UInt64: SourceLocation?] = [:]

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
      let result = withLookup {
        $0.mangledName(at: address).map { MangledName.isOfLibrary($0) } ?? false
      }
      isKnownToBeLibrary[address] = result
      return result
    }
  }

  private let state = Mutex(State())

  /// The number of addresses whose lines were looked up.
  var lookupCount: Int { state.withLock { $0.lookupCount } }

  /// Returns the location of the call stack with a key.
  func location(of callStack: UInt64) -> SourceLocation? {
    callStack == 0 ? nil : state.withLock { $0.location(of: callStack) }
  }
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension LocationFinder.State {
  fileprivate mutating func location(of callStack: UInt64) -> SourceLocation? {
    if let location = locations[callStack] { return location }
    let location = CallStacks.callStack(callStack).flatMap { findLocation(of: $0) }
    locations[callStack] = .some(location)
    return location
  }

  private mutating func findLocation(of callStack: CallStack) -> SourceLocation? {
    var inner: UInt?
    for address in callStack.addresses {
      if !isLibrary(address) {
        let functions = functions(at: address)
        if let index = functions.firstIndex(where: { !$0.isLibrary }) {
          // The function that the user's code calls, which is inlined there or the innermost
          // caller's.
          let called = functions[..<index].last ?? inner.flatMap { self.functions(at: $0).last }
          return SourceLocation(
            file: functions[index].file, line: functions[index].line,
            function: functions[index].name, operation: called.flatMap(OperationName.of))
        }
      }
      inner = address
    }
    return nil
  }
}

/// The name of an operation, derived from the function of the library that user code calls.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
enum OperationName {
  /// Returns `map` for `Thenable.map<A, B>(on:_:)`; nil for an initializer, which is named after
  /// its type.
  static func of(_ function: AddressLookup.Function) -> String? { baseName(function.name) }

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
    var parts = plain.split(separator: ".")
    if parts.last == "getter" { parts.removeLast() }
    guard let base = parts.last, base != "init" else { return nil }
    return base.split(separator: " ").last.map(String.init)
  }
}
