import Pledge

/// Finds the source location of a call stack: its first function outside the library.
///
/// Looking up a line takes long, so it's done once for each address that a location needs, when a
/// report first needs it. For the library's other functions, to which most addresses belong, the
/// name is enough.
final class LocationFinder: Sendable {
  static let shared = LocationFinder()

  fileprivate struct State {
    private lazy var lookup = AddressLookup()
    fileprivate var functions: [UInt: [AddressLookup.Function]] = [:]
    private var isLibrary: [UInt: Bool] = [:]
    private var locations: [UInt32: SourceLocation?] = [:]
  }

  private let state = Mutex(State())

  /// The number of addresses whose lines were looked up.
  var lookupCount: Int { state.withLock { $0.functions.count } }

  func location(of callStack: UInt32) -> SourceLocation? {
    callStack == 0 ? nil : state.withLock { $0.location(of: callStack) }
  }
}

extension LocationFinder.State {
  fileprivate mutating func location(of callStack: UInt32) -> SourceLocation? {
    if let location = locations[callStack] { return location }
    let location = findLocation(of: CallStacks.addresses(callStack))
    locations[callStack] = .some(location)
    return location
  }

  private mutating func findLocation(of addresses: [UInt]) -> SourceLocation? {
    var inner: UInt?
    for address in addresses {
      if !isLibrary(address) {
        let functions = functions(at: address)
        if let index = functions.firstIndex(where: { !$0.isLibrary }) {
          // The function that the user's code calls, which is inlined there or the innermost
          // caller's.
          let called = functions[..<index].last ?? inner.flatMap { self.functions(at: $0).last }
          return SourceLocation(
            file: functions[index].file, line: functions[index].line,
            function: functions[index].name, operation: called.flatMap { baseName($0.name) })
        }
      }
      inner = address
    }
    return nil
  }

  private mutating func functions(at address: UInt) -> [AddressLookup.Function] {
    if let functions = functions[address] { return functions }
    let functions = lookup.functions(at: address)
    self.functions[address] = functions
    return functions
  }

  /// Returns whether the function at `address` certainly belongs to the library, and no other
  /// code is inlined there.
  private mutating func isLibrary(_ address: UInt) -> Bool {
    if let result = isLibrary[address] { return result }
    let result = lookup.mangledName(at: address).map { MangledName.isOfLibrary($0) } ?? false
    isLibrary[address] = result
    return result
  }
}

/// Returns the name of a function without its type, arguments, and generic parameters: `map` for
/// `Thenable.map<A, B>(on:_:)`; nil for an initializer, which is named after its type.
private func baseName(_ name: String) -> String? {
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
