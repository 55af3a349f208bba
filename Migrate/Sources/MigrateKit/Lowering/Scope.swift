import Foundation

/// What is known about the names in scope while code is lowered.
final class Scope {
  private var frames: [[String: TypeGuess]] = [[:]]

  func push() { frames.append([:]) }
  func pop() { frames.removeLast() }

  func declare(_ name: String, _ type: TypeGuess) { frames[frames.count - 1][name] = type }

  /// Declares a parameter; for a closure, also what it returns.
  func declare(parameter name: String, type: String, _ declarations: Declarations) {
    declare(name, declarations.type(named: type))
    guard let arrow = type.range(of: "->", options: .backwards) else { return }
    let result = type[arrow.upperBound...].filter { !$0.isWhitespace && $0 != ")" }
    frames[frames.count - 1][name + "()"] = declarations.type(named: result)
  }

  /// What a local closure returns; nil if that isn't known.
  func result(of name: String) -> TypeGuess? {
    for frame in frames.reversed() where frame[name] != nil { return frame[name + "()"] }
    return nil
  }

  /// The type of a local name; nil if the name isn't local.
  func type(of name: String) -> TypeGuess? {
    for frame in frames.reversed() {
      if let type = frame[name] { return type }
    }
    return nil
  }
}

/// How many operator calls were decided to be a promise's or another type's, and how.
struct Decisions {
  /// Operators that a build has resolved.
  var byIndex = 0
  /// Operators whose receiver's declaration is known.
  var byDeclaration = 0
  /// Operators that only promises have.
  var byName = 0
  /// Operators whose chain continues with one that only promises have.
  var byChain = 0
  /// Calls of an operator's name, in files that use promises, whose receiver isn't known.
  var undecided: [Place] = []
  /// Calls that are known not to be applied to promises.
  var others = 0

  static func += (first: inout Decisions, second: Decisions) {
    first.byIndex += second.byIndex
    first.byDeclaration += second.byDeclaration
    first.byName += second.byName
    first.byChain += second.byChain
    first.undecided += second.undecided
    first.others += second.others
  }

  var decided: Int { byIndex + byDeclaration + byName + byChain }
}
