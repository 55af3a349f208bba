import Foundation

extension Machine {
  func call(
    _ callee: Expr, _ arguments: [Expr.Argument], _ expression: Expr, _ state: State,
    isEffect: Bool
  ) throws -> Values {
    if let known = try timeLimited(callee, arguments, state) { return known }
    switch callee.kind {
    case .name(let name)
    where (Lowering.collectionNames.contains(name) || Self.pure.contains(name)) && name != "zip"
      && isCollection(state) && state.environment[name] == nil
      && !(library != nil && ["all", "any"].contains(name)):
      let own = Expr(.member(Expr(.name("self"), callee.place), name), callee.place)
      return try call(own, arguments, expression, state, isEffect: isEffect)
    case .name(let name):
      if let own = memberOfSelf(name, callee.place, state) {
        return try call(own, arguments, expression, state, isEffect: isEffect)
      }
      if let known = try knownFunction(name, arguments, expression, state) { return known }
      return try evaluate(callee, state).flatMap { state, value, _ in
        try apply(value ?? .nothing, nil, arguments, expression, state, isEffect: isEffect)
      }
    case .member(nil, let name):
      if let known = try knownMember(name, arguments, expression, state) { return known }
      let member =
        name == "init" ? WrittenMembers.initializer(arguments.compactMap(\.writtenLabel)) : name
      let type = reading.impliedTypes[member]
      if name == "init", arguments.isEmpty, type == nil {
        // Mostly an empty collection, which the other version perhaps writes as one.
        return [(state, .list(List(elements: [], depth: state.loops.count)), nil)]
      }
      let callee = name == "init" ? type ?? ".init" : (type ?? "") + "." + name
      return try apply(.plain(callee), nil, arguments, expression, state, isEffect: isEffect)
    case .member(let base?, "count") where arguments.count == 1:
      // `count { … }` is `filter { … }.count`.
      let filter = Expr(.member(base, "filter"), callee.place)
      let filtered = Expr(
        .call(filter, [.init(label: Declarations.trailing, value: arguments[0].value)]),
        callee.place)
      return try evaluate(Expr(.member(filtered, "count"), callee.place), state)
    case .member(let base?, let name):
      if let known = try knownMethod(base, name, arguments, expression, state) { return known }
      return try evaluate(base, state).flatMap { state, value, flow -> Values in
        if let flow { return [(state, nil, flow)] }
        let value = value ?? .nothing
        if let known = try change(base, name, arguments, state) { return known }
        if let known = try method(of: value, name, arguments, expression, state) { return known }
        if let known = inlined(name), known.0.type.isThenable,
          base.type.isThenable && Declarations.thenables.contains(known.0.owner)
            || value.isCollection && Declarations.collections.contains(known.0.owner)
        {
          return try addedOperator(known, value, arguments, expression, state)
        }
        let type = declarations.typeName(ofProperty: base.lastName ?? "")
        if let known = inlined(name, of: type, arguments) {
          return try addedOperator(known, value, arguments, expression, state)
        }
        return try apply(
          member(value, name), value, arguments, expression, state, isEffect: isEffect)
      }
    default:
      return try evaluate(callee, state).flatMap { state, value, flow -> Values in
        if let flow { return [(state, nil, flow)] }
        return try apply(value ?? .nothing, nil, arguments, expression, state, isEffect: isEffect)
      }
    }
  }

  /// Applies a function to arguments.
  func apply(
    _ function: Value, _ receiver: Value?, _ arguments: [Expr.Argument], _ expression: Expr,
    _ state: State, isEffect: Bool
  ) throws -> Values {
    let takesWork = reading.takesWork.contains(function.text.lastName)
    let written = arguments.map { takesWork ? $0.value.work ?? $0.value : $0.value }
    return try all(written[...], state, []).flatMap { state, values, flow -> Values in
      if let flow { return [(state, nil, flow)] }
      let values = (values ?? []).map(state.decided)
      switch function {
      case .closure(let body):
        return try invoke(body, values, state, isEffect: isEffect)
      case .resolverMethod(let id, let name):
        return try resolve(id, name, arguments.map(\.label), values, expression.place, state)
      case .resolver(let id):
        // A guarantee's resolver is a function.
        return try resolve(id, "fulfill", [nil], values, expression.place, state)
      default:
        let text = function.text
        if values.count == 1, declarations.asksForCancellation(text.lastName) {
          return [(state, .plain("\(values[0].text).isCancelled"), nil)]
        }
        if let retries = reading.retries, retries.names.contains(text.lastName) {
          let (labels, values) = retries.arguments(arguments.map(\.label), values)
          return try opaque("retry", labels, values, expression, state, isEffect: isEffect)
        }
        if let known = inlined(text) ?? method(text) {
          return try enter(known.0, known.1, values, expression, state, isEffect: isEffect)
        }
        let results = try opaque(
          text, arguments.map(\.label), values, expression, state, isEffect: isEffect)
        guard let known = reading.inlined["\(text).init"], depth < 8,
          !entered.contains(ObjectIdentifier(known.0)),
          declarations.fits(known.0, arguments.map { $0.label ?? "_" })
        else { return results }
        return try results.flatMap {
          try initialize(known, $0.1 ?? .nothing, values, expression, $0.0)
        }
      }
    }
  }

  /// Records the call of a function that isn't described.
  func opaque(
    _ written: String, _ labels: [String?], _ values: [Value], _ expression: Expr, _ state: State,
    isEffect: Bool, isUnlabelled: Bool = false
  ) throws -> Values {
    var state = state
    let mark = written.lastIndex(of: ".").map(written.index(after:)) ?? written.startIndex
    var name = reading.newNames[String(written[mark...])].map { written[..<mark] + $0 } ?? written
    if values.isEmpty, State.orders.contains(written[mark...]), name.hasPrefix("unordered ") {
      name = String(name.dropFirst("unordered ".count))
    }
    if let seconds = Self.pause(name, labels, values) {
      if seconds == "0.0" { return [(state, .nothing, nil)] }
      record(
        .call, key: "sleep(\(seconds))", subject: "sleep", values: seconds,
        at: expression.place, isEffect: true, in: &state)
      return [(state, .plain("sleep(\(seconds))"), nil)]
    }
    let base = name.split(separator: ".").last.map(String.init) ?? name
    // Optional chaining doesn't call a method of nil.
    if name.hasPrefix("nil.") { return [(state, .plain("nil"), nil)] }
    // The process lives without it when `main` waits.
    if name == "dispatchMain" { return [(state, .nothing, nil)] }
    if Self.conversions.contains(name), labels == [nil] {
      return [(state, .plain(shortened("\(name)(\(values[0].text))")), nil)]
    }
    if let whole = Self.wholeCase(base, values) { return [(state, .plain(whole), nil)] }
    if name.hasPrefix("each([{…")
      || library != nil && Self.unfollowed.contains(name) && reading.retries == nil
    {
      state.isVague = true
    }
    if Self.publisherOperators.contains(base), expression.containsCall { state.isVague = true }
    // An iterator that creates promises as they are needed.
    if base.hasPrefix("AnyIterator") { state.isVague = true }
    // What a thread waits for isn't followed.
    if name == "DispatchSemaphore" { state.isVague = true }
    // A class without a superclass has nothing to call.
    if name == "super.init", values.isEmpty { return [(state, .nothing, nil)] }
    // Streams replace callbacks: which of their elements arrive where isn't followed.
    if isStream(name) {
      state.isVague = true
      return [(state, .plain(name), nil)]
    }
    if case .call(let callee, let arguments) = expression.kind,
      declarations.candidates(callee, arguments).contains(where: \.returnsStream)
    {
      state.isVague = true
    }
    // An object that settles the promise or resumes the continuation in its own way.
    if values.contains(where: \.isResolver), base.first?.isUppercase == true {
      state.isVague = true
    }
    if ["Optional", "Optional.some"].contains(name), values.count == 1 {
      return [(state, values[0], nil)]
    }
    // The operator's own error, which a conversion writes, and cancellations.
    if name == "PMKError.compactMap" || name == "CancellationError" {
      return [(state, .plain(name == "CancellationError" ? "\(name)()" : name), nil)]
    }
    // What `cauterize` logs, written by hand.
    let start = "\"PromiseKit:cauterized-error: \\("
    if name == "print", values.count == 1, values[0].text.hasPrefix(start) {
      let error = values[0].text.dropFirst(start.count).dropLast(2)
      return try opaque(
        "conf.logHandler", [nil], [.plain(".cauterized(\(error))")], expression, state,
        isEffect: true)
    }
    if let known = combined(name, labels, values) { return [(state, known, nil)] }
    if base == "data", labels == ["from"] {
      return try opaque(name, ["for"], values, expression, state, isEffect: isEffect)
    }
    if let known = try requestWithCallback(name, labels, values, expression, state) { return known }
    // The task has started where it was created.
    if name.hasPrefix(Self.started), base == "resume" { return [(state, .nothing, nil)] }
    if let (name, labels) = Self.request(name, labels, values) {
      return try opaque(
        name, labels, Array(values.dropFirst()), expression, state, isEffect: isEffect)
    }
    if Self.pure.contains(base), case .closure(let body)? = values.last {
      return try forEach(name, body, state)
    }
    let parts = zip(labels, values).map { label, value in
      guard let label, label != Declarations.trailing, !value.isFunction else {
        return value.argumentText
      }
      return "\(label): \(value.text)"
    }
    var text = shortened(name + "(" + parts.joined(separator: ", ") + ")")
    if state.events.contains(where: { $0.key == text && $0.isAwaited }) { text += "′" }
    let type = expression.type
    record(
      .call, key: text, subject: name, values: values.map(\.argumentText).joined(separator: ", "),
      isUnlabelled: isUnlabelled, at: expression.place, isEffect: isEffect,
      isPromise: type.isThenable, closures: callbacks(values, state, of: base), in: &state)
    state.events[state.events.count - 1].isOptional = expression.hasOptionalReceiver
    if case .call(let callee, let arguments) = expression.kind {
      if case .member(let base?, _) = callee.kind, let name = base.root {
        state.events[state.events.count - 1].isLocal = state.variables.contains(name)
      }
      state.events[state.events.count - 1].needsNoWait =
        state.isInAwait || declarations.isSynchronous(callee, arguments)
      state.events[state.events.count - 1].isCheap = declarations.isCheap(callee, arguments)
      state.events[state.events.count - 1].hasValue =
        !expression.hasOptionalReceiver && declarations.returnsNonOptional(callee, arguments)
    }
    if case .call(let callee, let arguments) = expression.kind, callee.isOwn,
      case let all = declarations.candidates(callee, arguments), all.count == 1,
      let index = reading.returnedParameter(all[0]), values.indices.contains(index)
    {
      state.passed[text] = values[index]
      if !all[0].isAsync, !all[0].type.isThenable, !all[0].throwsErrors {
        return [(state, values[index], nil)]
      }
    }
    let ends = ["fatalError", "preconditionFailure"].contains(name)
    return [ends ? (state, nil, .crashed) : (state, .plain(text), nil)]
  }

  /// Whether a function is one with which code creates a stream or adds to it.
  private func isStream(_ name: String) -> Bool {
    let types = ["AsyncStream", "AsyncThrowingStream"]
    if types.contains(where: name.hasPrefix) || name.hasSuffix(".notifications") { return true }
    guard ["yield", "finish"].contains(where: { name.hasSuffix(".\($0)") }) else { return false }
    let type = declarations.typeName(ofProperty: name.rootName, in: owner)
    return types.contains { type?.contains($0) ?? false }
  }

  /// The value whose parts a case is made from again: `.http(code, text)` in `case .http(let code, let text)`.
  private static func wholeCase(_ name: String, _ values: [Value]) -> String? {
    guard let first = values.first?.text, first.hasSuffix("]"),
      let end = first.range(of: "[.\(name)", options: .backwards)
    else { return nil }
    let whole = first[..<end.lowerBound]
    let isWhole = values.enumerated().allSatisfy { index, value in
      value.text == "\(whole)[.\(name)\(values.count > 1 ? ".\(index)" : "")]"
    }
    return isWhole ? String(whole) : nil
  }

  /// Functions of the libraries that aren't followed.
  static let unfollowed: Set<String> = [
    "race", "any", "retry", "hedged", "using", "results",
  ]

  /// Types whose initializers convert numbers, which is no effect.
  private static let conversions: Set<String> = [
    "Int", "Int32", "Int64", "UInt", "UInt8", "UInt32", "UInt64", "Double", "Float", "CGFloat",
    "TimeInterval",
  ]

  /// `data(for:)`, which is what `dataTask(.promise, with:)` does, and the same for uploads.
  private static func request(
    _ name: String, _ labels: [String?], _ values: [Value]
  ) -> (String, [String?])? {
    guard values.first?.text == ".promise", labels.count > 1, labels[1] == "with" else {
      return nil
    }
    for kind in ["data", "upload"] where name.hasSuffix(".\(kind)Task") {
      return (String(name.dropLast(4)), ["for"] + labels.dropFirst(2))
    }
    return nil
  }

  /// How many seconds a call pauses: `after(seconds:)` and `Task.sleep` are the same step.
  private static func pause(_ name: String, _ labels: [String?], _ values: [Value]) -> String? {
    guard ["after", "Task.sleep"].contains(name), values.count == 1 else { return nil }
    var text = values[0].text.replacingOccurrences(of: "NSEC_PER_SEC", with: "1000000000")
      .replacingOccurrences(of: "Double(1000000000)", with: "1000000000").filter { $0 != "_" }
      .replacing(/max\(0, ([^()]*)\)/) { $0.1 }
    func unwrap(_ prefix: String) -> Bool {
      guard text.hasPrefix(prefix), text.hasSuffix(")") else { return false }
      text = String(text.dropFirst(prefix.count).dropLast())
      return true
    }
    var unit = 1.0
    if labels[0] == "nanoseconds" {
      _ = unwrap("UInt64(")
      for factor in [" * 1000000000", " * 1e9"] where text.hasSuffix(factor) {
        text = String(text.dropLast(factor.count))
        return number(text, unit: 1)
      }
      unit = 1e-9
    } else if unwrap(".milliseconds(") {
      unit = 1e-3
    } else if !unwrap(".seconds("), labels[0] != "seconds", name == "after" {
      return nil
    }
    return number(text, unit: unit)
  }

  /// A number of seconds, or a product of numbers; other texts with their unit.
  private static func number(_ text: String, unit: Double) -> String {
    let factors = text.components(separatedBy: " * ").map(Double.init)
    guard factors.allSatisfy({ $0 != nil }) else { return unit == 1 ? text : "\(text) * \(unit)" }
    return String((factors.compactMap { $0 }.reduce(unit, *) * 1e6).rounded() / 1e6)
  }

  /// Methods of collections that call their closure for each element, during the call.
  static let pure: Set<String> = [
    "map", "filter", "compactMap", "flatMap", "first", "contains", "sorted", "reduce", "allSatisfy",
    "min", "max", "mapValues", "compactMapValues", "forEach", "firstIndex", "last",
    "drop", "prefix",
  ]

  /// Operators of Combine's publishers, which aren't followed.
  static let publisherOperators: Set<String> = [
    "sink", "mapError", "eraseToAnyPublisher", "handleEvents", "receive", "subscribe",
    "setFailureType", "replaceError", "tryMap", "Future", "Deferred", "sinkAsync", "asPromise",
    "publisher", "promise", "flatMapLatest", "removeDuplicates", "debounce", "throttle",
  ]

  private func forEach(_ name: String, _ body: Body, _ state: State) throws -> Values {
    var state = state
    let mark = name.lastIndex(of: ".")
    let written = mark.map { String(name[..<$0]) } ?? ""
    // Sorting gives results that arrive in any order the order of what they are computed from.
    if name.hasSuffix(".sorted"), written.hasPrefix("unordered ") {
      return [(state, .plain(String(written.dropFirst("unordered ".count))), nil)]
    }
    let elements = Elements(.plain(written))
    let (base, element) = (elements.source, elements.element)
    let name = base == written ? name : base + (mark.map { name[$0...] } ?? "")
    state.loops.append(base)
    let loops = state.loops.count
    let isComparison = ["sorted", "min", "max", "reduce"].contains { name.hasSuffix("." + $0) }
    let arguments =
      isComparison && body.parameters.count > 1
      ? body.parameters.indices.map { Value.plain("each\($0)(\(base))") } : [element]
    return try invoke(body, arguments, state, isEffect: name.hasSuffix("forEach")).map {
      state, value, flow in
      var state = state
      if state.loops.count >= loops { state.loops.removeLast() }
      if let flow { return (state, nil, flow) }
      return (state, .plain(shortened("\(name){\(value?.text ?? "")}")), nil)
    }
  }

  // MARK: Functions of the language and the libraries

  private func knownFunction(
    _ written: String, _ arguments: [Expr.Argument], _ expression: Expr, _ state: State
  ) throws -> Values? {
    let name = String(written.prefix { $0 != "<" })
    if state.environment[name] != nil { return nil }
    switch name {
    case "Task":
      return try spawn(arguments, expression, state, isDetached: false)
    case "withCheckedContinuation", "withUnsafeContinuation", "withCheckedThrowingContinuation",
      "withUnsafeThrowingContinuation":
      return try continuation(arguments, state, canThrow: name.contains("Throwing"))
    case "DispatchWorkItem":
      // A block that a queue gets later.
      guard let work = arguments.last?.value, case .closure = work.kind else { return nil }
      return try evaluate(work, state)
    case "perform", "performAndWait":
      // In an extension of Core Data's context.
      guard declarations.byName[name] == nil else { return nil }
      let context = Expr(.name("self"), expression.place)
      return try queueMethod(context, name, arguments, state)
    case "withExtendedLifetime", "autoreleasepool":
      guard case .closure(let body)? = arguments.last?.value.kind else { return nil }
      return try invoke(body, [], state, isEffect: true)
    case "withTaskGroup", "withThrowingTaskGroup", "withDiscardingTaskGroup",
      "withThrowingDiscardingTaskGroup":
      return try taskGroup(
        arguments, state, throwsErrors: name == "withThrowingDiscardingTaskGroup")
    case "Result":
      // What the closure returns or throws.
      guard arguments.count == 1, let work = arguments.last?.value, work.isHandler else {
        return nil
      }
      var call = Expr(.call(work, []), work.place)
      // A closure contains its own `try`.
      if case .closure = work.kind {
      } else {
        call = Expr(.attempt(.propagate, call), work.place)
      }
      return try evaluate(call, state).map { state, value, flow in
        guard case .thrown(let error)? = flow else {
          return (state, value.map { .plain(".success(\($0.text))") }, flow)
        }
        return (state, .plain(".failure(\(error.text))"), nil)
      }
    case "withTaskCancellationHandler":
      guard case .closure(let body)? = arguments.first?.value.kind else { return nil }
      return try invoke(body, [], state)
    default:
      // Pledge's functions are static ones.
      guard let library, library != .pledge || ["Promise", "Guarantee"].contains(name) else {
        return nil
      }
      return try promiseFunction(name, arguments, expression, library, state)
    }
  }

  /// `MainActor.run`, `Task.detached`, `Promise.pending`, and the like, and blocks sent to queues.
  private func knownMethod(
    _ base: Expr, _ name: String, _ arguments: [Expr.Argument], _ expression: Expr, _ state: State
  ) throws -> Values? {
    guard case .name(let written) = base.kind else {
      return try queueMethod(base, name, arguments, state)
    }
    let type = String(written.prefix { $0 != "<" })
    switch (type, name) {
    case ("MainActor", "run"), ("MainActor", "assumeIsolated"):
      guard case .closure(let body)? = arguments.last?.value.kind else { return nil }
      return try within(.main, state) { try invoke(body, [], $0, isEffect: true) }
    case ("Task", "detached"):
      return try spawn(arguments, expression, state, isDetached: true)
    case ("Promise", _), ("Guarantee", _):
      guard let library else { return nil }
      if name == "init" {
        return try promiseFunction(type, arguments, expression, library, state)
      }
      return try knownMember(name, arguments, expression, state)
    default:
      return try queueMethod(base, name, arguments, state)
    }
  }

  /// Methods of groups, of their results, and of promises of Google's library that settle them.
  private func method(
    of value: Value, _ name: String, _ arguments: [Expr.Argument], _ expression: Expr,
    _ state: State
  ) throws -> Values? {
    if name == "pipe", arguments.count == 1, arguments[0].label == "to" {
      return try pipe(value, arguments[0].value, expression.place, state)
    }
    switch value {
    case .list
    where value.isEmptyList && arguments.isEmpty
      && ["enumerated", "sorted", "reversed"].contains(name):
      return [(state, value, nil)]
    case .group:
      return try groupMethod(name, arguments, state)
    case .elements(let elements):
      return try method(of: elements, name, arguments, state)
        ?? elementwise(value, name, arguments, state)
    case .promise(let id) where name == "fulfill" || name == "reject":
      return try apply(
        .resolverMethod(id, name), nil, arguments, expression, state, isEffect: true)
    case .plain(let text)
    where name == "get" && arguments.isEmpty && CaseName.ofResult(text) != nil:
      let (name, result) = CaseName.ofResult(text) ?? ("", "")
      let part = Value.plain(String(result))
      return [name == "success" ? (state, part, nil) : (state, nil, .thrown(part))]
    case .plain where name == "mapError" && arguments.last?.value.isCastOfParameter == true:
      return [(state, value, nil)]
    case .plain(let text)
    where ["fulfill", "reject", "resolve", "resume"].contains(name)
      && (declarations.storesResolver(text.rootName, in: owner)
        || text.contains(".") && declarations.storesResolver(text.lastName, in: "")):
      let isOptional = expression.hasOptionalReceiver
      return try (isOptional ? isPresent(value, state) : [(state, true)]).flatMap {
        state, isThere -> Values in
        guard isThere else { return [(state, .nothing, nil)] }
        return try apply(
          .resolverMethod(PromiseState.stored, name), nil, arguments, expression, state,
          isEffect: true)
      }
    default:
      if bridges.contains(name) || name == "cancellize", arguments.onlyNameQueue {
        return [(state, value, nil)]
      }
      return try elementwise(value, name, arguments, state)
    }
  }
}

extension Expr.Argument {
  /// The label, or nil for none, unless this is a trailing closure.
  fileprivate var writtenLabel: String?? { label == Declarations.trailing ? nil : .some(label) }
}

extension Expr {
  /// The call whose result `{ try await call() }` waits for.
  fileprivate var work: Expr? {
    guard case .closure(let body) = kind, body.isExpression, !body.hasParameters,
      case .expression(var inner)? = body.steps.first
    else { return nil }
    while true {
      switch inner.kind {
      case .attempt(.propagate, let next), .await(let next): inner = next
      case .call, .chain: return inner
      default: return nil
      }
    }
  }

  /// Whether this is a closure such as `{ $0 as Error }`.
  fileprivate var isCastOfParameter: Bool {
    guard case .closure(let body) = kind, case .expression(let value)? = body.steps.first,
      case .compound(let pieces) = value.kind, pieces.count == 2,
      case .text(let cast) = pieces[1]
    else { return false }
    return cast.hasPrefix(" as ")
  }
}

extension String {
  /// The name that a description such as `each(waiters).first` starts with.
  fileprivate var rootName: String {
    var text = self[...]
    for prefix in ["each(", "Array("] where text.hasPrefix(prefix) {
      text = text.dropFirst(prefix.count)
    }
    return String(text.prefix(while: CaseName.isWord))
  }
}

extension Value {
  var isFunction: Bool {
    switch self {
    case .closure, .resolver, .resolverMethod: true
    default: false
    }
  }

  /// The text in the arguments of a call, where a resolver is a function like others.
  var argumentText: String { isFunction ? Self.functionText : text }

  var isNothing: Bool {
    if case .plain("()") = self { true } else { false }
  }
}
