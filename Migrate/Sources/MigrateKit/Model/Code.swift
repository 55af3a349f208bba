import SwiftSyntax

/// The code of a function or closure, lowered to what its effects depend on.
///
/// This is the intermediate representation: a report describes it, the executor of paths runs it,
/// and rewriting starts from its chains. Promises and async/await are lowered to the same steps.
public final class Body {
  /// The names of the parameters, inside the body.
  let parameters: [String]
  /// The statements.
  let steps: [Step]
  /// Whether the body is a single expression, whose value is the result.
  let isExpression: Bool
  /// Whether the closure is marked as running on the main actor.
  let isMainActor: Bool
  /// Whether the function returns nothing, or a promise for `Void`.
  let resultIsVoid: Bool
  /// The result type that is written for a closure.
  var writtenResult: String?
  /// Whether a closure that gets a resolver or a continuation only fulfills with it.
  var onlyFulfills = false
  /// The values that a closure captures under a name.
  var captures: [(name: String, value: Expr)] = []
  /// Whether the closure names or uses a parameter.
  var hasParameters = true
  /// Whether the body contains `try` or `throw` outside nested closures.
  var canThrow = false
  /// Where the body is.
  let place: Place

  init(
    parameters: [String], steps: [Step], isExpression: Bool, isMainActor: Bool,
    resultIsVoid: Bool, place: Place
  ) {
    self.parameters = parameters
    self.steps = steps
    self.isExpression = isExpression
    self.isMainActor = isMainActor
    self.resultIsVoid = resultIsVoid
    self.place = place
  }
}

/// A statement.
indirect enum Step {
  case expression(Expr)
  case bind(Pattern, Expr?, isVariable: Bool, isAsyncLet: Bool)
  case assign(target: Expr, symbol: String, value: Expr)
  case branch([Condition], then: [Step], otherwise: [Step])
  case require([Condition], otherwise: [Step])
  case choose(Expr, [Case])
  case loop(Loop)
  case doCatch([Step], [Handler])
  case later([Step])
  case exit(Expr?, Place)
  case fail(Expr, Place)
  case leave(Leaving, Place)
  case function(name: String, Body)
}

/// What `break` and `continue` leave.
enum Leaving { case loop, iteration, choice }

/// What a `let`, a parameter, or a pattern binds.
indirect enum Pattern {
  case name(String)
  case tuple([Pattern])
  case ignored
}

/// A condition of `if`, `guard`, or `while`.
enum Condition {
  case test(Expr)
  /// `if let pattern = value`: succeeds if the value isn't nil.
  case unwrap(Pattern, Expr)
  /// `if case pattern = value`, with the names that the pattern binds.
  case match(String, [String], Expr)
  /// `#available` and the like.
  case fixed(String)
}

/// A case of a `switch`.
struct Case {
  let pattern: String
  let names: [String]
  let filter: Expr?
  let steps: [Step]
}

/// A loop, whose body is described for one element.
struct Loop {
  /// The elements, or the condition.
  let source: Expr?
  let pattern: Pattern
  let steps: [Step]
}

/// A `catch` clause.
struct Handler {
  let pattern: String?
  let name: String
  /// The names that the pattern binds.
  let names: [String]
  let filter: Expr?
  let steps: [Step]
}

/// What is known about the type of an expression, from declarations.
enum TypeGuess: Equatable {
  case promise, guarantee, resolver, other, unknown

  var isThenable: Bool { self == .promise || self == .guarantee }
}

/// An expression.
final class Expr {
  indirect enum Kind {
    case name(String)
    case literal(String)
    case member(Expr?, String)
    case call(Expr, [Argument])
    case closure(Body)
    case tuple([Argument])
    case list([Expr])
    /// Tokens and expressions whose order is all that matters, such as operators.
    case compound([Piece])
    case conditional(Expr, Expr, Expr)
    case attempt(Attempt, Expr)
    case await(Expr)
    case chain(Link)
    case keyPath(String)
    case block([Step])
  }

  enum Piece {
    case text(String)
    case expression(Expr)
  }

  enum Attempt { case propagate, optional, force }

  struct Argument {
    let label: String?
    let value: Expr
  }

  let kind: Kind
  let place: Place
  let type: TypeGuess
  /// Whether `?` follows, so that what is applied to this doesn't happen without a value.
  var isOptional = false
  /// Whether `!` follows, so that the program ends without a value.
  var isForced = false

  init(_ kind: Kind, _ place: Place, _ type: TypeGuess = .unknown) {
    self.kind = kind
    self.place = place
    self.type = type
  }
}

extension [Expr.Argument] {
  /// Whether there are no arguments, or only `on:`.
  var onlyNameQueue: Bool { allSatisfy { $0.label == "on" } }
}

/// One operator of a chain, applied to the promise before it.
final class Link {
  let base: Expr
  let role: Role
  let name: String
  let library: Library
  /// The value of `on:`; nil if the default executor applies.
  let executor: Expr?
  /// Whether a `policy:` argument makes the handler receive cancellations.
  let policy: Expr?
  let arguments: [Expr.Argument]
  /// The handler: a closure, or an expression that refers to a function.
  let handler: Expr?
  let place: Place
  let baseIsGuarantee: Bool
  /// What the build's index says about the overload; nil without an index.
  var overload: Overload?

  /// Overloads that differ in what their handlers return.
  enum Overload: String { case promise, value, nothing, guarantee }
  let syntax: FunctionCallExprSyntax?

  init(
    base: Expr, role: Role, name: String, library: Library, executor: Expr?, policy: Expr?,
    arguments: [Expr.Argument], handler: Expr?, place: Place, syntax: FunctionCallExprSyntax?
  ) {
    self.base = base
    self.role = role
    self.name = name
    self.library = library
    self.executor = executor
    self.policy = policy
    self.arguments = arguments
    self.handler = handler
    self.place = place
    self.syntax = syntax
    baseIsGuarantee = base.type == .guarantee
  }
}
