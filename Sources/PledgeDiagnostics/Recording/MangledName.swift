/// Determines from the mangled name of a function where it was declared.
enum MangledName {
  private static let libraryModules = SourceLocation.libraryModules

  /// The operators for specializations: copies of functions in which the optimizer can have inlined
  /// closures of their callers.
  private static let specializations = ["TG", "Tg", "Tf"]

  /// Returns whether the function was certainly declared by the library and contains only its code.
  ///
  /// The name starts with a module and the types that contain the function. In an extension, the
  /// module that declares the extension follows, and then the letter E, after constraints that end
  /// with the letter l: `6Pledge7PromiseV5fetchE`, `6Pledge7PromiseV5fetchSiRszlE`. In an extension
  /// in the same module, the substitution `AA` stands for the module's name. In doubt, this returns
  /// false: a user's function must not be mistaken for one of the library.
  static func isOfLibrary(_ name: String) -> Bool {
    !specializations.contains { name.contains($0) } && isOfLibrary(copy: name)
  }

  /// Returns whether the function, or the one that it is a copy of, was declared by the library.
  static func isOfLibrary(copy name: String) -> Bool {
    var rest = Substring(name)
    guard rest.hasPrefix("$s") else { return false }
    rest.removeFirst(2)
    guard let module = takeIdentifier(&rest), libraryModules.contains(module) else { return false }
    while let identifier = takeIdentifier(&rest) {
      if libraryModules.contains(identifier) { return true }
      guard let kind = rest.first, "VCOP".contains(kind) else {
        return rest.first != "E" && !rest.contains("lE")
      }
      rest.removeFirst()
    }
    return rest.hasPrefix("AA") || !rest.utf8.contains(UInt8(ascii: "E"))
  }

  /// Returns and removes an identifier with its length in front; nil if there is none, or if it's
  /// abbreviated.
  private static func takeIdentifier(_ rest: inout Substring) -> String? {
    let digits = rest.prefix { $0.isASCII && $0.isNumber }
    guard let length = Int(digits), length > 0, digits.first != "0" else { return nil }
    let start = digits.endIndex
    guard let end = rest.utf8.index(start, offsetBy: length, limitedBy: rest.endIndex) else {
      return nil
    }
    defer { rest = rest[end...] }
    return String(rest[start..<end])
  }
}
