/// A promise library.
public enum Library: String, Sendable, CaseIterable {
  case promiseKit = "PromiseKit"
  case google = "Promises"
  case pledge = "Pledge"

  /// The library that a file with `imports` uses, if it uses one.
  static func used(by imports: Set<String>) -> Library? {
    allCases.first { imports.contains($0.rawValue) }
  }
}

extension SourceFile {
  /// Whether more than one library is imported.
  var importsSeveralLibraries: Bool {
    Library.allCases.filter { imports.contains($0.rawValue) }.count > 1
  }
}

/// What an operator does with the result of the promise before it.
public enum Role: String, Sendable {
  /// Calls its handler with the value, and continues with the result.
  case then, map, compactMap, done
  /// Calls its handler with the value, and passes the value on.
  case get
  /// Calls its handler with the result, and passes the result on.
  case tap
  /// Calls its handler with the error, and ends the chain.
  case catchError
  /// Calls its handler with the error, and passes the error on.
  case catchAndPass
  /// Calls its handler with the error, and continues with the result.
  case recover
  /// Calls its handler in both cases, and passes the result on.
  case finally
  case asVoid
  /// Ends the chain and logs its error.
  case cauterize
  /// Applies a synchronous function to each element.
  case eachValue
  /// Starts a promise for each element.
  case eachPromise
  /// Changes when or whether the result arrives: `timeout`, `delay`, `validate`.
  case policy
  /// Blocks the thread until the promise settles.
  case wait
  /// Continues in an `async` function: `.async()`, `.value`.
  case toAsync

  /// Whether a chain ends with an operator of this role, apart from `finally`.
  var endsChain: Bool { self == .catchError || self == .cauterize || self == .finally }

  /// Whether the handler of an operator of this role only gets errors.
  var handlesErrorsOnly: Bool { [.catchError, .catchAndPass, .recover].contains(self) }

  /// Whether an operator of this role is always called with a handler.
  var needsHandler: Bool {
    switch self {
    case .then, .map, .compactMap, .done, .get, .tap, .catchError, .catchAndPass, .recover,
      .finally, .eachPromise:
      true
    case .asVoid, .cauterize, .eachValue, .policy, .wait, .toAsync: false
    }
  }
}

/// The operators of the libraries.
enum Operators {
  /// What the operator `name` does; nil if the library has no such operator.
  static func role(_ name: String, _ library: Library) -> Role? {
    switch library {
    case .promiseKit: promiseKit[name]
    case .google: google[name]
    case .pledge: pledge[name]
    }
  }

  /// Whether no type of the standard library has a method with this name and a closure, so that the
  /// name alone shows that it is applied to a promise.
  static func isTelling(_ name: String) -> Bool { !ambiguous.contains(name) }

  /// The names of the operators of all libraries.
  static var allNames: Set<String> {
    Set([promiseKit, google, pledge].flatMap(\.keys))
  }

  private static let ambiguous: Set<String> = [
    "map", "compactMap", "get", "mapValues", "compactMapValues", "reduce", "wait", "filter",
    "first", "last", "delay", "timeout", "validate", "value", "result", "async", "observe", "tap",
    "firstValue", "lastValue", "finally",
  ]

  private static let promiseKit: [String: Role] = [
    "then": .then, "map": .map, "compactMap": .compactMap, "done": .done, "get": .get,
    "tap": .tap, "catch": .catchError, "recover": .recover, "ensure": .finally,
    "ensureThen": .finally, "finally": .finally, "always": .finally, "asVoid": .asVoid,
    "cauterize": .cauterize, "mapValues": .eachValue, "flatMapValues": .eachValue,
    "compactMapValues": .eachValue, "filterValues": .eachValue, "sortedValues": .eachValue,
    "firstValue": .eachValue, "lastValue": .eachValue, "thenMap": .eachPromise,
    "thenFlatMap": .eachPromise, "wait": .wait, "async": .toAsync, "asyncValue": .toAsync,
  ]

  private static let google: [String: Role] = [
    "then": .then, "catch": .catchAndPass, "always": .finally, "recover": .recover,
    "validate": .policy, "timeout": .policy, "delay": .policy, "reduce": .eachPromise,
  ]

  private static let pledge: [String: Role] = [
    "then": .then, "map": .map, "compactMap": .compactMap, "done": .done, "get": .get,
    "tap": .tap, "watch": .tap, "catch": .catchError, "recover": .recover,
    "replaceError": .recover, "mapError": .recover, "finally": .finally,
    "finallyThen": .finally, "asVoid": .asVoid, "ignoreErrors": .cauterize, "reduce": .eachPromise,
    "timeout": .policy, "delay": .policy, "validate": .policy,
    "deadline": .policy, "wait": .wait, "asyncMap": .then, "asyncRecover": .recover,
    "asyncFinally": .finally,
  ]
}
