import Foundation

/// Executes bodies symbolically: returns each path with what it does.
///
/// Both alternatives of each condition are followed, and so are success and failure of each call
/// that can fail. A chain and the `async` code that corresponds to it have equal paths.
final class Machine {
  typealias Results = [(State, Flow)]
  typealias Values = [(State, Value?, Flow?)]

  struct TooManyPaths: Error {}

  let reading: Reading
  /// The functions whose calls are being followed.
  var entered: Set<ObjectIdentifier> = []
  let declarations: Declarations
  let owner: String
  /// The type of the result of the function.
  let result: String
  private let file: SourceFile
  /// Where the code continues after it has waited.
  let home: Executor
  let library: Library?
  /// Follows all alternatives one after the other, instead of each separately.
  let isLinear: Bool
  /// The places of the labels in tuples of the code.
  var tupleLabels: [String: Int] = [:]
  var depth = 0
  /// The bodies that are being executed.
  var open: Set<ObjectIdentifier> = []
  var stateCount = 0

  init(
    reading: Reading, declarations: Declarations, function: FunctionDeclaration, home: Executor,
    isLinear: Bool
  ) {
    self.reading = reading
    self.declarations = declarations
    owner = function.owner
    result = function.plainResult
    file = function.file
    self.home = home
    library = declarations.library(of: function.file)
    self.isLinear = isLinear
  }

  /// The function that a call is replaced by; nil if there is none, or if it's being followed.
  func inlined(_ name: String, in owner: String? = nil) -> (FunctionDeclaration, Body)? {
    guard depth < 8, let known = followed(name, in: owner),
      !entered.contains(ObjectIdentifier(known.0))
    else { return nil }
    return known
  }

  /// The function that exists on this side only and has a name, in a type or alone.
  func followed(_ name: String, in owner: String? = nil) -> (FunctionDeclaration, Body)? {
    if let known = reading.inlined["\(owner ?? self.owner).\(name)"] ?? reading.inlined[name] {
      return known
    }
    // A method of the type comes before a function without one.
    guard owner == nil, !declarations.declares(name, in: self.owner) else { return nil }
    return reading.inlined[".\(name)"]
  }

  /// The method that a call on another object calls, if its name says enough.
  func inlined(
    _ name: String, of type: String?, _ arguments: [Expr.Argument]
  ) -> (FunctionDeclaration, Body)? {
    let labels = arguments.map { $0.label ?? "_" }
    let fitting = (declarations.byName[name] ?? []).filter { declarations.fits($0, labels) }
    // Without a type, the labels decide.
    let owner = type ?? (fitting.count == 1 ? fitting[0].owner : nil)
    guard let known = inlined(name, in: owner), !known.0.owner.isEmpty, known.0.owner != self.owner,
      type == nil || known.0.isOwned(by: type), !known.0.isPrivate || known.0.file === file,
      declarations.fits(known.0, labels)
    else { return nil }
    return known
  }

  /// Whether a text is that of a new object, or a part of one, whose type only this side has.
  func isOwnObject(_ text: String) -> Bool {
    let name = text.prefix(while: CaseName.isWord)
    return reading.ownTypes.contains(String(name))
      && ["(", "<", nil].contains(text[name.endIndex...].first)
  }

  /// Whether a text is that of a property whose type only this side has: what it contains is what
  /// other versions keep in properties of their own.
  func isOwnContainer(_ text: String) -> Bool {
    // What a box contains, such as a lock that protects a value.
    if let all = declarations.properties[text], !all.isEmpty,
      all.allSatisfy({ property in
        reading.ownTypes.contains(property.owner)
          && declarations.types[property.owner]?.generics.contains(property.typeName) == true
      })
    {
      return true
    }
    guard let type = declarations.typeName(ofProperty: text, in: owner) else { return false }
    return reading.ownTypes.contains(Declarations.contained(type))
  }

  // MARK: Statements

  func run(_ steps: ArraySlice<Step>, _ state: State) throws -> Results {
    guard let step = steps.first else { return [(state, .normal(.nothing))] }
    let rest = steps.dropFirst()
    if case .later(let deferred) = step {
      return try run(rest, state).flatMap { state, flow in
        try run(deferred[...], state).map { state, end in
          if case .crashed = end { (state, end) } else { (state, flow) }
        }
      }
    }
    if case .require(let conditions, let otherwise) = step {
      return try test(conditions[...], state).flatMap { state, holds, flow -> Results in
        if let flow { return [(state, flow)] }
        if holds { return try run(rest, state) }
        let ended = try block(otherwise, state)
        guard isLinear else { return ended }
        // What the alternative does is recorded; then the code continues.
        return try ended.flatMap { try run(rest, $0.0) }
      }
    }
    let results = try execute(step, state)
    if rest.isEmpty { return results }
    return try results.flatMap { state, flow -> Results in
      if case .normal = flow { return try run(rest, state) }
      if isLinear, case .returned = flow { return try run(rest, state) }
      if isLinear, case .thrown = flow { return try run(rest, state) }
      return [(state, flow)]
    }
  }

  /// Runs statements in a scope of their own.
  func block(_ steps: [Step], _ state: State) throws -> Results {
    let declared = names(steps)
    let saved = declared.map { ($0, state.environment[$0]) }
    return try run(steps[...], state).map { state, flow in
      var state = state
      if case .returned(.closure(let inner)) = flow { state.keep(declared, for: inner) }
      for (name, value) in saved { state.environment[name] = value }
      return (state, flow)
    }
  }

  private func names(_ steps: [Step]) -> [String] {
    steps.flatMap { step -> [String] in
      switch step {
      case .bind(let pattern, _, _, _): names(pattern)
      case .function(let name, _): [name]
      case .require(let conditions, _): names(conditions)
      default: []
      }
    }
  }

  private func names(_ conditions: [Condition]) -> [String] {
    conditions.flatMap { condition -> [String] in
      switch condition {
      case .unwrap(let pattern, _): names(pattern)
      case .match(_, let names, _): names
      default: []
      }
    }
  }

  private func names(_ pattern: Pattern) -> [String] {
    switch pattern {
    case .name(let name): [name]
    case .tuple(let parts): parts.flatMap(names)
    case .ignored: []
    }
  }

  private func execute(_ step: Step, _ state: State) throws -> Results {
    switch step {
    case .expression(let value):
      return try evaluate(value, state, isEffect: true).map(flow)
    case .bind(let pattern, let value, let isVariable, let isAsync):
      var state = state
      for name in names(pattern) {
        if isVariable { state.variables.insert(name) } else { state.variables.remove(name) }
      }
      return try bind(pattern, value, isAsync: isAsync, state)
    case .assign(let target, let symbol, let value):
      return try assign(target, symbol, value, state)
    case .branch(let conditions, let then, let otherwise):
      return try branch(conditions, then, otherwise, state)
    case .choose(let subject, let cases):
      return try choose(subject, cases, state)
    case .loop(let loop):
      return try self.loop(loop, state)
    case .doCatch(let body, let handlers):
      return try doCatch(body, handlers, state)
    case .exit(let value, let place):
      var state = state
      state.endPlace = place
      guard let value else { return [(state, .returned(.nothing))] }
      return try evaluate(value, state).map { state, value, flow in
        (state, flow ?? .returned(value ?? .nothing))
      }
    case .fail(let value, let place):
      var state = state
      state.endPlace = place
      return try evaluate(value, state).map { state, value, flow in
        (state, flow ?? .thrown(caught(value ?? .nothing, state)))
      }
    case .leave(let leaving, let place):
      var state = state
      if leaving == .loop, let loop = state.loops.last, !["while", "repeat"].contains(loop) {
        record(
          .block, key: "break from \(loop)", subject: "break", values: "", at: place,
          isEffect: true, in: &state)
      }
      return [(state, leaving == .choice ? .leftChoice : .left)]
    case .function(let name, let body):
      var state = state
      state.homes[ObjectIdentifier(body)] = state.scope
      state.environment[name] = .closure(body)
      return [(state, .normal(.nothing))]
    case .later, .require:
      return [(state, .normal(.nothing))]
    }
  }

  private func flow(_ result: (State, Value?, Flow?)) -> (State, Flow) {
    (result.0, result.2 ?? .normal(result.1 ?? .nothing))
  }

  private func branch(
    _ conditions: [Condition], _ then: [Step], _ otherwise: [Step], _ state: State
  ) throws -> Results {
    if isLinear {
      var results: Results = []
      for (first, holds, flow) in try test(conditions[...], state) {
        if let flow {
          results.append((first, flow))
          continue
        }
        _ = holds
        var state = first
        for steps in [then, otherwise] {
          if let next = try block(steps, state).first { state = next.0 }
        }
        results.append((state, .normal(.nothing)))
      }
      return results
    }
    let saved = names(conditions).map { ($0, state.environment[$0]) }
    return try test(conditions[...], state).flatMap { state, holds, flow -> Results in
      if let flow { return [(state, flow)] }
      return try block(holds ? then : otherwise, state).map { state, flow in
        var state = state
        for (name, value) in saved { state.environment[name] = value }
        return (state, flow)
      }
    }
  }

  /// The error that a path has caught, if `error` names its case.
  private func caught(_ error: Value, _ state: State) -> Value {
    guard let written = CaseName.ofError(error.text[...]) else { return error }
    let value = error.text[written.endIndex...].dropFirst().dropLast()
    // The cases of results have one name.
    let name = ["rejected": "failure", "fulfilled": "success"][written] ?? written
    for (question, holds) in state.decisions
    where holds && question.hasPrefix("error of ") && question.hasSuffix(" ~ .\(name)") {
      let known = String(question.dropLast(name.count + 4))
      if value.isEmpty || state.decisions["\(known)[.\(name)] == \(value)"] == true
        || value == "\(known)[.\(name)]"
      {
        return .plain(known)
      }
    }
    return error
  }

  // MARK: Bindings

  private func bind(
    _ pattern: Pattern, _ value: Expr?, isAsync: Bool, _ state: State
  ) throws -> Results {
    guard let value else {
      return [(destructure(pattern, .plain("unset"), state), .normal(.nothing))]
    }
    let values = isAsync ? try asyncLet(value, state) : try evaluate(value, state)
    return values.map { state, value, flow in
      if let flow { return (state, flow) }
      return (destructure(pattern, value ?? .nothing, state), .normal(.nothing))
    }
  }

  func destructure(_ pattern: Pattern, _ value: Value, _ state: State) -> State {
    var state = state
    switch pattern {
    case .name(let name): state.environment[name] = value
    case .ignored: break
    case .tuple(let parts):
      for (index, part) in parts.enumerated() {
        state = destructure(part, value.part(index), state)
      }
    }
    return state
  }

  /// What the description of a copy starts with, once a member of the copy has changed.
  private static let changed = "changed copy of "

  private func assign(
    _ target: Expr, _ symbol: String, _ value: Expr, _ state: State
  ) throws -> Results {
    let isPromise = value.type.isThenable
    return try evaluate(value, state).flatMap { state, value, flow -> Results in
      if let flow { return [(state, flow)] }
      return try store(value ?? .nothing, target, symbol, isPromise: isPromise, state)
    }
  }

  func store(
    _ value: Value, _ target: Expr, _ symbol: String, isPromise: Bool, _ state: State
  ) throws -> Results {
    if case .compound(let pieces) = target.kind, pieces.count == 1, case .text("_") = pieces[0] {
      return [(state, .normal(.nothing))]
    }
    if symbol == "=", case .tuple(let parts) = target.kind {
      var results: Results = [(state, .normal(.nothing))]
      for (index, part) in parts.enumerated() {
        results = try results.flatMap {
          try store(value.part(index), part.value, symbol, isPromise: false, $0.0)
        }
      }
      return results
    }
    if case .name(let name) = target.kind, let old = state.environment[name], !old.isShared {
      var state = state
      // `count += 1` is `count = count + 1`.
      state.environment[name] =
        symbol == "="
        ? value
        : symbol == "+="
          ? sum(old, value, loops: state.loops)
          : .plain(shortened("\(old.text) \(symbol.dropLast()) \(value.text)"))
      return [(state, .normal(.nothing))]
    }
    if symbol == "=", let gathered = try gather(target, value, state) {
      return [(gathered, .normal(.nothing))]
    }
    // The member that is set, and not its value.
    let fields = state.fields
    var bare = state
    bare.fields = [:]
    return try evaluate(target, bare).flatMap { bare, subject, flow -> Results in
      if let flow { return [(bare, flow)] }
      // Storing a resolver has no effect: using it has.
      if case .resolver? = subject { return [(bare, .normal(.nothing))] }
      var state = bare
      state.fields = fields
      if symbol == "=", let text = subject?.text {
        // Streams aren't followed.
        if text.hasSuffix(".onTermination") { return [(state, .normal(.nothing))] }
        // What only this version's own objects contain has no effect either.
        if isOwnObject(text) {
          state.fields[text] = value
          return [(state, .normal(.nothing))]
        }
      }
      let subject = (subject?.text ?? "").replacingOccurrences(of: Self.changed, with: "")
      // A stored promise is what a stored task is; the call that starts it is described by itself.
      let isPair =
        if case .tuple(let parts) = value { parts.contains(where: \.isResolver) } else { false }
      let text = isPromise || isPair ? "promise" : value.text
      record(
        .set, key: "\(subject) \(symbol) \(text)", subject: subject, values: text,
        at: target.place, isEffect: true, closures: callbacks([value], state), in: &state)
      state.events[state.events.count - 1].isOptional = target.hasOptionalReceiver
      state.events[state.events.count - 1].isLocal =
        target.root.map { state.variables.contains($0) } ?? false
      // Its value is described by itself.
      state.events[state.events.count - 1].isCheap = state.events[state.events.count - 1].isLocal
      state.assigned[subject, default: 0] += 1
      let isStored = if case .promise = value { true } else { isPromise }
      state.stored[subject] = isStored ? value : nil
      if let name = target.root, state.variables.contains(name),
        case .plain(let text)? = state.environment[name], !text.hasPrefix(Self.changed)
      {
        state.environment[name] = .plain(shortened(Self.changed + text))
      }
      return try observed(subject, value, target, state)
    }
  }

  /// What the observer of a property does that only this version has.
  private func observed(
    _ property: String, _ value: Value, _ target: Expr, _ state: State
  ) throws -> Results {
    guard let known = inlined("\(property).didSet") else { return [(state, .normal(.nothing))] }
    return try enter(
      known.0, known.1, [], target, state, isEffect: true, names: [property: value]
    ).map { state, _, flow in (state, flow ?? .normal(.nothing)) }
  }

  // MARK: Events

  func record(
    _ kind: Event.Kind, key: String, subject: String, values: String, isUnlabelled: Bool = false,
    at place: Place, isEffect: Bool, isPromise: Bool = false, closures: [Callback] = [],
    in state: inout State
  ) {
    state.events.append(
      Event(
        kind: kind, key: shortened(key), subject: subject, values: shortened(values),
        isUnlabelled: isUnlabelled, place: place, executor: state.executor, isEffect: isEffect,
        isPromise: isPromise, list: state.list, start: state.tick(), origin: state.list,
        originStart: state.lists[state.list].start, loops: state.loops,
        closures: closures, priority: state.priority))
  }

  func callbacks(_ values: [Value], _ state: State, of callee: String = "") -> [Callback] {
    values.flatMap { value -> [Callback] in
      switch value {
      case .closure(let body):
        // Code of the main actor forms closures that are isolated to it, unless they're `@Sendable`.
        let inherits = home == .main && !declarations.takesSendableClosure(callee)
        return [
          Callback(
            body: body, state: state, home: body.isMainActor || inherits ? .main : .callback,
            errors: declarations.errors(ofCallbackOf: callee))
        ]
      case .resolverMethod:
        return [Callback(body: nil, state: nil, home: .callback, errors: [])]
      case .list(let list): return callbacks(list.elements, state, of: callee)
      default: return []
      }
    }
  }
}
