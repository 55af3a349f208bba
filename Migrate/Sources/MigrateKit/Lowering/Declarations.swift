import Foundation
import SwiftSyntax

/// A type that a tree declares, with what its declarations say about isolation.
struct TypeDeclaration {
  var inherited: Set<String> = []
  /// The names of its generic parameters.
  var generics: Set<String> = []
  var isMainActor = false
  var isActor = false
  /// The names of an enumeration's cases.
  var cases: Set<String> = []
  /// Whether the tree has only extensions of it.
  var isExtended = true
}

/// The declarations of a tree, by name.
final class Declarations {
  private(set) var functions: [FunctionDeclaration] = []
  private(set) var byName: [String: [FunctionDeclaration]] = [:]
  private(set) var properties: [String: [(owner: String, type: TypeGuess, typeName: String)]] = [:]
  private(set) var types: [String: TypeDeclaration] = [:]
  /// Other names of the libraries' types.
  private var aliases: [String: TypeGuess] = [:]
  /// What closures in properties return.
  private var closureResults: [String: Set<TypeGuess>] = [:]
  /// The names of properties that the tree declares, with functions.
  private var names: Set<String> = []
  private let modules: Set<String>
  let settings: BuildSettings
  let index: IndexStore?
  /// The library that the tree uses, if it uses only one.
  private let library: Library?
  private var getters: Set<String> = []
  /// The names of asynchronous functions that do nothing but pause, with the library's.
  private(set) lazy var pauses = Set(
    functions.filter { function in
      function.isAsync && function.statements?.count == 1
        && function.statements?.tokens(viewMode: .sourceAccurate).contains { $0.text == "sleep" }
          ?? false
    }
    .map(\.name) + ["sleep"])
  private var stored: [String: [String: String]] = [:]
  private var callbackErrors: [String: Set<Int>] = [:]
  /// The parts of properties that hold tuples.
  private var pairs: [String: [String: TypeGuess]] = [:]
  /// The main and global queues that constants name.
  private(set) var queues: [String: String] = [:]
  private var constants: [String: Set<String>] = [:]
  /// Whether the program, apart from its tests, sets the queues on which handlers run by default.
  private(set) var setsDefaultQueue = false

  init(_ tree: SourceTree) {
    settings = tree.settings
    index = tree.index
    let used = Set(tree.files.compactMap { Library.used(by: $0.imports) })
    library = used.count == 1 ? used.first : nil
    modules = Set(tree.files.flatMap { $0.path.split(separator: "/").dropLast().map(String.init) })
    for file in tree.files {
      let collector = DeclarationCollector(file)
      collector.walk(file.syntax)
      functions += collector.functions
      getters.formUnion(collector.getters)
      pairs.merge(collector.pairs) { $1 }
      queues.merge(collector.queues) { $1 }
      constants.merge(collector.constants) { $0.union($1) }
      if collector.setsDefaultQueue, !file.isTest { setsDefaultQueue = true }
      for (name, owner, type, typeName) in collector.properties {
        properties[name, default: []].append((owner, type, typeName))
        if Self.waits.contains(where: typeName.contains) {
          stored[owner, default: [:]][name] = typeName
        }
      }
      for (name, type) in collector.closures { closureResults[name, default: []].insert(type) }
      for (name, type) in collector.aliases where type.isThenable { aliases[name] = type }
      for (name, type) in collector.types {
        types[name, default: TypeDeclaration()].inherited.formUnion(type.inherited)
        if type.isMainActor { types[name]?.isMainActor = true }
        if type.isActor { types[name]?.isActor = true }
        types[name]?.cases.formUnion(type.cases)
        types[name]?.generics.formUnion(type.generics)
        if !type.isExtended { types[name]?.isExtended = false }
      }
    }
    for function in functions { function.type = guessResult(function.returns, type) }
    properties = properties.mapValues { all in
      all.map { ($0.owner, aliases[Self.plain($0.typeName)] ?? $0.type, $0.typeName) }
    }
    byName = Dictionary(grouping: functions, by: \.name)
    names = Set(byName.keys).union(properties.keys)
  }

  /// Returns what a written type says about promises.
  func type(named written: String) -> TypeGuess {
    aliases[Self.plain(written)] ?? guessType(written)
  }

  /// The name in a written type, without the types around it and generic arguments.
  private static func plain(_ written: String) -> String {
    let name = written.prefix { $0 != "<" }
    return name.lastIndex(of: ".").map { String(name[name.index(after: $0)...]) } ?? String(name)
  }

  /// Whether a name that the tree doesn't declare can't be a promise's: the file imports only
  /// modules that have none.
  func isForeign(_ name: String, in file: SourceFile) -> Bool {
    if names.contains(name) || closureResults[name] != nil { return false }
    if Self.extended.contains(name) { return false }
    return file.imports.allSatisfy {
      Self.systemModules.contains($0) || modules.contains($0) || Library(rawValue: $0) != nil
    }
  }

  /// Functions of the libraries' companions that do what the system's `async` functions do.
  static let companions: Set<String> = [
    "observe", "launch", "dataTask", "uploadTask", "downloadTask",
  ]

  /// Functions with which the libraries and their companions extend system types.
  private static let extended = companions.union([
    "after", "validate", "when", "race", "firstly", "all", "any", "retry", "wrap", "value",
    "promise", "Promise", "Guarantee",
  ])

  /// The types of what code waits for, and with which it settles that.
  private static let waits = [
    "Promise<", "Guarantee<", "Resolver<", "Continuation<", "Task<", "Timer",
  ]

  private static let systemModules: Set<String> = [
    "Foundation", "UIKit", "SwiftUI", "AppKit", "Cocoa", "Combine", "Dispatch", "XCTest", "Testing",
    "CoreData", "CoreLocation", "CoreGraphics", "WebKit", "SafariServices", "MessageUI", "Security",
    "FoundationNetworking", "CommonCrypto", "CryptoKit", "Network", "StoreKit", "MapKit",
    "AVFoundation", "Photos", "UserNotifications", "Darwin", "Glibc", "os", "ObjectiveC",
    "CoreFoundation", "PMKFoundation", "Swift", "MobileCoreServices", "UniformTypeIdentifiers",
    "LocalAuthentication", "Intents", "WatchKit", "WatchConnectivity", "Contacts", "EventKit",
    "BigInt", "JavaScriptCore", "IOKit", "Carbon", "QuartzCore", "CoreMedia",
    "AuthenticationServices",
    "FBLPromises", "PackageDescription", "Collections", "Algorithms", "ArgumentParser",
  ]

  /// Whether the tree declares a function, a property, or a type with a name.
  func declares(_ name: String) -> Bool { names.contains(name) || typeNames.contains(name) }

  /// Whether the tree declares a property with a name, other than promises and queues.
  func declaresValue(_ name: String) -> Bool {
    properties[name]?.allSatisfy { property in
      !property.type.isThenable
        && !(Self.waits + ["DispatchQueue"]).contains(where: property.typeName.contains)
    } ?? false
  }

  /// The names of types without those of the types around them.
  private(set) lazy var typeNames = Set(types.keys.map(\.lastName))

  /// The library of a file: the one that it imports, or the only one in the tree.
  func library(of file: SourceFile) -> Library? { Library.used(by: file.imports) ?? library }

  /// The position of a label in the tuple that the function of a call returns; nil for other calls.
  func index(of label: String, inResultOf call: String) -> Int? {
    guard call.hasSuffix(")") else { return nil }
    var depth = 0
    let open = call.indices.reversed().first { index in
      if call[index] == ")" { depth += 1 } else if call[index] == "(" { depth -= 1 }
      return depth == 0
    }
    guard let open else { return nil }
    let name = call[..<open].split(separator: ".").last.map(String.init) ?? ""
    return byName[name]?.lazy.compactMap { $0.resultLabels.firstIndex(of: label) }.first
  }

  /// Whether the functions that a call can be are declared with a result that isn't optional.
  func returnsNonOptional(_ callee: Expr, _ arguments: [Expr.Argument]) -> Bool {
    let fitting = candidates(callee, arguments)
    return !fitting.isEmpty && fitting.allSatisfy { !$0.plainResult.hasSuffix("?") }
  }

  /// Whether a function of the program, or a property that it adds to errors, tells by its name and type
  /// if an error is a cancellation.
  func asksForCancellation(_ name: String) -> Bool {
    name.lowercased().contains("cancel")
      && (byName["\(name).get", default: []].contains { $0.owner == "Error" }
        || byName[name, default: []].contains {
          $0.returns == "Bool" && ["Error", "any Error"].contains($0.parameters.first?.type)
        })
  }

  /// The functions of the tree that a call can be.
  func candidates(
    _ callee: Expr, _ arguments: [Expr.Argument]
  ) -> [FunctionDeclaration] {
    switch callee.kind {
    case .name(let name), .member(_, let name):
      byName[name]?.filter { fits($0, arguments.map { $0.label ?? "_" }) } ?? []
    default: []
    }
  }

  /// Whether the declarations say that a call makes a small value from small ones.
  func isCheap(_ callee: Expr, _ arguments: [Expr.Argument]) -> Bool {
    let all = candidates(callee, arguments)
    return !all.isEmpty
      && all.allSatisfy { function in
        ["URL", "URLRequest", "String", "Int", "Bool", "Date", "UUID"].contains(function.returns)
          && !function.throwsErrors && !function.isAsync
          && !function.parameters.contains {
            $0.type == "Data" || $0.type.hasSuffix("Image") || $0.type.contains("[")
          }
      }
  }

  /// Whether the declarations say that a call returns when its work is done.
  func isSynchronous(_ callee: Expr, _ arguments: [Expr.Argument]) -> Bool {
    var all = candidates(callee, arguments)
    if case .member(let base?, _) = callee.kind, !base.isSelf {
      // A method of the type of a property; others can be those of types that aren't declared.
      let name = base.lastName ?? ""
      let type = name.first?.isUppercase == true ? name : typeName(ofProperty: name)
      if name != "Self" { all = all.filter { $0.owner == type } }
    }
    return !all.isEmpty && all.allSatisfy { !$0.isAsync && !$0.type.isThenable }
  }

  /// Whether a call under `await` can be what is awaited, as far as declarations and names tell.
  func mayBeAsync(
    _ callee: Expr, _ arguments: [Expr.Argument], onlyDeclared: Bool = false
  ) -> Bool {
    let all = candidates(callee, arguments)
    if all.contains(where: { $0.isAsync || $0.type.isThenable }) { return true }
    if onlyDeclared || isSynchronous(callee, arguments) { return false }
    switch callee.kind {
    case .name(let name): return name.first?.isUppercase == false
    case .member(_, let name):
      return name.first?.isUppercase == false && !Machine.pure.contains(name)
        && !Lowering.collectionNames.contains(name)
    default: return true
    }
  }

  /// Whether an expression has a value; nil if the declarations don't tell.
  func hasValue(_ expression: Expr) -> Bool? {
    switch expression.kind {
    case .call(let callee, let arguments):
      if case .name(let name) = callee.kind {
        if Self.voidFunctions.contains(name) { return false }
        if name.first?.isUppercase == true { return true }
      }
      let all = candidates(callee, arguments)
      if all.isEmpty { return nil }
      if all.allSatisfy(\.isVoid) { return false }
      return all.contains(where: \.isVoid) ? nil : true
    case .attempt(.propagate, let inner): return hasValue(inner)
    case .name, .literal, .tuple, .list, .keyPath, .closure: return true
    case .member: return true
    case .compound(let pieces): return pieces.count > 1 ? true : nil
    default: return nil
    }
  }

  private static let voidFunctions: Set<String> = [
    "print", "debugPrint", "NSLog", "assert", "precondition", "assertionFailure", "os_log",
  ]

  /// What the declarations say about the result of a call; `.unknown` if they disagree or there are
  /// none.
  func resultType(ofCall name: String, labels: [String], in owner: String) -> TypeGuess {
    if let results = closureResults[name], byName[name] == nil {
      return results.count == 1 ? results.first ?? .unknown : .unknown
    }
    guard let all = byName[name] else { return .unknown }
    let fitting = all.filter { fits($0, labels) }
    if fitting.isEmpty { return .unknown }
    let own = fitting.filter { $0.owner == owner }
    let candidates = own.isEmpty ? fitting : own
    let types = Set(candidates.map { $0.isAsync || $0.isVoid ? TypeGuess.other : $0.type })
    return types.count == 1 ? types.first ?? .unknown : .unknown
  }

  /// Returns whether a call with these labels can be a call of `function`, whose parameters with
  /// defaults it can leave out.
  func fits(_ function: FunctionDeclaration, _ labels: [String]) -> Bool {
    fits(function, labels[...], from: 0)
  }

  private func fits(
    _ function: FunctionDeclaration, _ labels: ArraySlice<String>, from start: Int
  ) -> Bool {
    let count = function.labels.count
    guard let label = labels.first else { return function.canLeaveOut(start..<count) }
    return (start..<count).contains { index in
      (function.labels[index] == label
        || label == Self.trailing && takesClosure(function, at: index))
        && function.canLeaveOut(start..<index)
        && fits(function, labels.dropFirst(), from: index + 1)
    }
  }

  /// The positions of arguments with these labels, by those of the parameters.
  func positions(of labels: [String], in function: FunctionDeclaration) -> [Int: Int] {
    var result: [Int: Int] = [:]
    var next = 0
    for (position, label) in labels.enumerated() {
      let open = next..<function.labels.count
      let index =
        label == Self.trailing
        ? open.first { function.parameters[$0].type.contains("->") }
          ?? open.first { takesClosure(function, at: $0) }
        : open.first { function.labels[$0] == label }
      guard let index else { continue }
      result[index] = position
      next = index + 1
    }
    return result
  }

  /// Whether a parameter can be a closure: its type is one, or isn't known.
  private func takesClosure(_ function: FunctionDeclaration, at index: Int) -> Bool {
    function.takesClosure(at: index)
      && (index >= function.parameters.count || types[function.parameters[index].type] == nil)
  }

  /// The label of a trailing closure in a call.
  static let trailing = "{}"

  /// Whether the tree declares a function with the name of an operator, outside extensions of the
  /// libraries' types, that fits a call; nil is any call.
  func declaresOperator(_ name: String, labels: [String]? = nil) -> Bool {
    byName[name]?.contains { function in
      !Self.thenables.contains(function.owner) && !function.labels.isEmpty
        && labels.map { fits(function, $0) } ?? true
    } ?? false
  }

  /// The libraries' types, which programs extend.
  static let thenables: Set<String> = ["Promise", "Guarantee", "Thenable", "CatchMixin"]
  /// The types of collections, which programs extend with combinations of promises.
  static let collections: Set<String> = ["Sequence", "Collection", "Array"]

  /// Whether all functions with a name take a closure last that returns a promise.
  func takesPromiseClosure(_ name: String) -> Bool {
    guard let all = byName[name] else { return false }
    return all.allSatisfy { function in
      guard let type = function.parameters.last?.type,
        let arrow = type.range(of: "->", options: .backwards)
      else { return false }
      return guessType(type[arrow.upperBound...].filter { !$0.isWhitespace && $0 != ")" })
        .isThenable
    }
  }

  /// Whether the functions with a name take a `@Sendable` closure, as far as that is known.
  func takesSendableClosure(_ name: String) -> Bool {
    guard let all = byName[name] else { return Self.sendableCallbacks.contains(name) }
    return all.contains { $0.parameters.contains { $0.type.contains("@Sendable") } }
  }

  /// Functions of Apple's frameworks that call a `@Sendable` closure.
  private static let sendableCallbacks: Set<String> = [
    "dataTask", "uploadTask", "downloadTask", "streamTask", "getAllTasks", "addObserver",
    "scheduledTimer", "requestAuthorization", "getNotificationSettings", "perform",
    "performBackgroundTask", "addOperation", "concurrentPerform", "notify", "requestAccess",
    "performChanges", "evaluatePolicy", "loadItem", "loadObject", "loadDataRepresentation",
    "reverseGeocodeLocation", "geocodeAddressString", "setEventHandler",
  ]

  /// Whether all closures that the functions with a name take return nothing.
  func takesVoidClosure(_ name: String) -> Bool {
    let types = byName[name]?.flatMap(\.parameters).map(\.type).filter { $0.contains("->") } ?? []
    return !types.isEmpty
      && types.allSatisfy { type in
        ["Void", "()", "Void)?", "())?"].contains { type.hasSuffix($0) }
      }
  }

  /// The positions of the optional errors among the parameters of the closure that the functions with
  /// a name take.
  func errors(ofCallbackOf name: String) -> Set<Int> {
    if let known = callbackErrors[name] { return known }
    let found = findErrors(ofCallbackOf: name)
    callbackErrors[name] = found
    return found
  }

  private func findErrors(ofCallbackOf name: String) -> Set<Int> {
    let types = byName[name]?.flatMap(\.parameters).map(\.type).filter { $0.contains("->") } ?? []
    let lists = Set(
      types.map { type in
        type.replacingOccurrences(of: "(any Error)", with: "Error")
          .drop { $0 != "(" }.dropFirst().prefix { $0 != ")" }.split(separator: ",").map {
            $0.trimmingCharacters(in: .whitespaces).hasSuffix("Error?")
          }
      })
    guard lists.count == 1, let only = lists.first else { return [] }
    return Set(only.indices.filter { only[$0] })
  }

  func propertyType(_ name: String, in owner: String?) -> TypeGuess {
    guard let all = properties[name] else { return .unknown }
    let own = all.filter { $0.owner == owner }
    let types = Set((own.isEmpty ? all : own).map(\.type))
    return types.count == 1 ? types.first ?? .unknown : .unknown
  }

  /// Whether a type has a function or property with a name.
  func declares(_ name: String, in owner: String) -> Bool {
    byName[name]?.contains { $0.owner == owner } ?? false
      || properties[name]?.contains { $0.owner == owner } ?? false
  }

  /// Whether a name or member is a property whose getter does what a function would do.
  func isGetter(_ name: String, in owner: String?) -> Bool {
    guard getters.contains(name), let all = properties[name] else { return false }
    let own = all.filter { $0.owner == owner }
    return (own.isEmpty ? all : own).allSatisfy { property in
      byName[name]?.contains { $0.owner == property.owner } ?? false
    }
  }

  /// The name of the type of a property; nil if declarations differ.
  func typeName(ofProperty name: String, in owner: String? = nil) -> String? {
    let all = properties[name] ?? []
    let own = all.filter { $0.owner == owner }
    let names = Set((own.isEmpty ? all : own).map(\.typeName))
    return names.count == 1 ? names.first.map { $0.trimmingCharacters(in: ["?", "!"]) } : nil
  }

  /// The queue or the number that a property always is, if its name says so in the whole tree.
  func constant(_ name: String) -> String? {
    if let queue = queues[name] { return queue }
    guard let values = constants[name], values.count == 1, properties[name]?.count == 1 else {
      return nil
    }
    return values.first
  }

  /// Whether a property is declared with `!`: code that uses it while it is nil ends the program.
  func isImplicitlyUnwrapped(_ name: String, in owner: String) -> Bool {
    properties[name]?.contains { $0.owner == owner && $0.typeName.hasSuffix("!") } ?? false
  }

  /// The properties of a type, with their types as if promises were tasks.
  func properties(of owner: String) -> [String: String] { propertiesByOwner[owner] ?? [:] }

  private lazy var propertiesByOwner: [String: [String: String]] = properties.reduce(into: [:]) {
    result, property in
    for (owner, _, typeName) in property.value {
      result[owner, default: [:]][property.key] = typeName.asTask
    }
  }

  /// The short name of a type, or of the one that it protects with a lock.
  static func contained(_ type: String) -> String {
    var name = type[...]
    if let open = name.firstIndex(of: "<"), name.hasSuffix(">") {
      name = name[name.index(after: open)...].dropLast()
    }
    return String(name).lastName
  }

  /// The properties of a type that store promises, continuations, or tasks, with what they store.
  func storedTypes(in owner: String) -> [String: String] {
    stored[owner] ?? [:]
  }

  /// What a part of a stored pair is: a promise or its resolver.
  func part(_ name: String, of property: String) -> TypeGuess? { pairs[property]?[name] }

  /// Whether a property holds a resolver or a continuation, or a collection of these.
  func storesResolver(_ name: String, in owner: String, isAlone: Bool = false) -> Bool {
    guard let type = typeName(ofProperty: name, in: owner) else { return false }
    return guessType(type) == .resolver
      || !isAlone
        && ["Resolver<", "Continuation<", "Promise<"].contains(where: type.contains)
  }

  private static let mainActorRoots: Set<String> = [
    "NSViewController", "NSView", "NSWindowController", "NSResponder", "NSWindow",
    "NSApplicationDelegate", "View", "App", "Scene", "NSTableCellView", "ViewModifier",
  ]

  /// Whether a type of UIKit is isolated to the main actor; the others are values.
  private static func isOfUIKit(_ name: String) -> Bool {
    name.hasPrefix("UI") && name.dropFirst(2).first?.isUppercase == true
      && !["UIImage", "UIColor", "UIFont", "UIBezierPath"].contains(name)
  }

  /// Returns whether a type is isolated to the main actor, by attribute or inheritance.
  func isMainActor(type name: String, depth: Int = 0) -> Bool {
    let plain = Self.plain(name)
    if Self.mainActorRoots.contains(plain) || Self.isOfUIKit(plain) { return true }
    guard depth < 8, let type = types[name] ?? types[plain] else {
      // A view controller of another module.
      return depth > 0 && plain.hasSuffix("ViewController")
    }
    // An extension of a view of another module.
    if type.isExtended, plain.hasSuffix("View") || plain.hasSuffix("ViewController") { return true }
    if type.isMainActor { return true }
    if type.isActor { return false }
    return type.inherited.contains { $0 != name && isMainActor(type: $0, depth: depth + 1) }
  }

  func isActor(type name: String) -> Bool { types[name]?.isActor ?? false }
}

extension String {
  /// The name of a type without those of the types around it.
  var lastName: String { split(separator: ".").last.map(String.init) ?? self }

  /// A type with tasks in place of promises, and continuations in place of resolvers.
  fileprivate var asTask: String {
    withoutPromises.replacingOccurrences(of: "\\bany +", with: "", options: .regularExpression)
      .filter { !$0.isWhitespace }.replacingOccurrences(
        of: ",(any)?(Error|Never)>", with: ">", options: .regularExpression
      ).replacingOccurrences(
        of: "(Promise|Guarantee)<", with: "Task<", options: .regularExpression
      ).replacingOccurrences(
        of: "Async(Throwing)?Stream<([^<>]*)>\\.Continuation", with: "CheckedContinuation<$2>",
        options: .regularExpression
      ).replacingOccurrences(
        of: "(Resolver|UnsafeContinuation)<", with: "CheckedContinuation<",
        options: .regularExpression)
  }
}

/// The names of attributes.
func attributeNames(_ attributes: AttributeListSyntax) -> [String] {
  attributes.compactMap { $0.as(AttributeSyntax.self)?.attributeName.trimmedDescription }
}
