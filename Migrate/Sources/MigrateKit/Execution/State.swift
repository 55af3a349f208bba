/// The state of one path while code is executed symbolically.
struct State {
  /// The values of the names in the current scope: those of one function, with its closures.
  var environment: [String: Value] = [:]
  private var scopes: [[String: Value]] = [[:]]
  private(set) var scope = 0
  /// The scopes in which closures were created.
  var homes: [ObjectIdentifier: Int] = [:]
  /// The values that closures have captured under names.
  var captures: [ObjectIdentifier: [String: Value]] = [:]
  var decisions: [String: Bool] = [:]
  var events: [Event] = []
  var lists = [WorkList(kind: .own, parent: 0, start: 0)]
  var joins: [Int: Join] = [:]
  /// The list into which events are recorded.
  var list = 0
  var executor: Executor
  var promises: [PromiseState] = []
  /// The promises that callbacks settle, in the order in which the code waits for them.
  var callbacks: [Int] = []
  /// Promises with smaller numbers belong to surrounding code.
  var outerPromises = 0
  var clock = 0
  var loops: [String] = []
  var priority = ""
  var isInTry = false
  /// Whether the code is a part of what an `await` covers, and not all of it.
  var isInAwait = false
  /// How often each variable has been set on this path.
  var assigned: [String: Int] = [:]
  /// The promises and tasks that this path has stored in properties.
  var stored: [String: Value] = [:]
  /// The values of the members of objects that the path has created, of types that only this version
  /// has.
  var fields: [String: Value] = [:]
  /// The arguments that are the results of calls, by the descriptions of these.
  var passed: [String: Value] = [:]
  /// The local variables, of which a change of a member makes another value.
  var variables: Set<String> = []
  /// Results of handlers that perhaps return nothing, and the values that are then passed on.
  var doubts: [String: String] = [:]
  /// The values without which the program ends on this path.
  var present: Set<String> = []
  /// The values that this path waits for, and whether an `await` says so of a promise or task that
  /// no call of this path returned.
  var waits: [String: Bool] = [:]
  /// The cases of errors with which operators of the code itself reject.
  var ownErrors: Set<Substring> = []
  /// The tasks of the innermost group.
  var children: [Machine.Child] = []
  /// The collection through whose results a loop over a group runs.
  var gathered: String?
  var endPlace: Place?
  /// Whether the path runs closures in a way that isn't described: they race, or a task resumes the
  /// continuation that the code waits for.
  var isVague = false

  init(executor: Executor) { self.executor = executor }

  mutating func tick() -> Int {
    clock += 1
    return clock
  }

  /// Continues with the names of another scope.
  mutating func enter(_ other: Int) {
    guard other != scope else { return }
    scopes[scope] = environment
    environment = scopes[other]
    scope = other
  }

  /// A new scope, for a function that doesn't see the names of its caller.
  mutating func addScope(_ names: [String: Value]) -> Int {
    scopes.append(names)
    return scopes.count - 1
  }

  /// Keeps the values of names for a closure that outlives them.
  mutating func keep(_ names: [String], for closure: Body) {
    for name in names {
      captures[ObjectIdentifier(closure), default: [:]][name] = environment[name]
    }
  }

  /// The state with which a closure starts that this path has passed on.
  func forCallback(_ executor: Executor) -> State {
    var state = State(executor: executor)
    state.environment = environment.mapValues(\.asCaptured)
    state.scopes = scopes.map { $0.mapValues(\.asCaptured) }
    state.scope = scope
    state.homes = homes
    state.captures = captures
    state.promises = promises
    state.outerPromises = promises.count
    return state
  }

  mutating func startList(_ kind: ListKind) -> Int {
    lists.append(WorkList(kind: kind, parent: list, start: tick()))
    return lists.count - 1
  }

  mutating func addPromise(
    _ outcome: Outcome? = nil, source: Value? = nil, list: Int? = nil, canFail: Bool = true
  ) -> Int {
    promises.append(PromiseState(outcome: outcome, source: source, list: list, canFail: canFail))
    return promises.count - 1
  }

  mutating func callbackNumber(of id: Int) -> Int {
    if let index = callbacks.firstIndex(of: id) { return index }
    callbacks.append(id)
    return callbacks.count - 1
  }

  /// Whether a value is the end of a chain whose errors have been handled.
  func isEnd(_ value: Value?) -> Bool {
    if case .promise(let id)? = value { promises[id].isEnd } else { false }
  }

  /// This state with a new promise, which is the value of the expression.
  func withPromise(
    _ outcome: Outcome? = nil, source: Value? = nil, list: Int? = nil
  ) -> (State, Value?, Flow?) {
    var state = self
    let id = state.addPromise(outcome, source: source, list: list)
    return (state, .promise(id), nil)
  }

  /// Moves the events of a list to the current one, whose code has waited for them.
  mutating func join(_ other: Int) {
    guard other != list, other != 0 else { return }
    joins[other] = Join(into: list, time: tick())
    var moved: [Event] = []
    var kept: [Event] = []
    for var event in events {
      if event.list == other {
        event.list = list
        moved.append(event)
      } else {
        kept.append(event)
      }
    }
    events = kept + moved
    for index in promises.indices where promises[index].list == other {
      promises[index].list = list
    }
  }

  /// The pause after which a promise is rejected, if it does nothing else.
  func pause(_ value: Value) -> String? {
    guard case .promise(let id) = value, let list = promises[id].list,
      case .rejected? = promises[id].outcome
    else { return nil }
    let work = events.filter { $0.isStrong && ($0.list == list || $0.waiter == list) }
    return work.count == 1 && work[0].subject == "sleep" ? work[0].key : nil
  }

  /// Whether a value is a promise or a call that the code hasn't waited for.
  func isPending(_ value: Value) -> Bool {
    switch value {
    case .promise: true
    case .elements(let elements):
      isPending(elements.element) || isPending(.plain(elements.source))
    case .plain(let text):
      // A new value of a type, or a case with a value, is no call to wait for.
      openCall(text).map {
        let name = events[$0].baseName
        return events[$0].subject.first != "." && name.first?.isUppercase == false
          && !Lowering.collectionNames.contains(name)
      } ?? false
    default: false
    }
  }

  /// The answer to a condition, if this path has given it; other values stay.
  func decided(_ value: Value) -> Value {
    guard case .plain(let text) = value else { return value }
    if let known = decisions[text] { return .plain(String(known)) }
    guard let opposite = text.hasSuffix(" == nil") ? text.dropLast(7) + " != nil" : nil,
      let known = decisions[String(opposite)]
    else { return value }
    return .plain(String(!known))
  }

  /// Whether a value is that of a task or of a call that gives one.
  func isTask(_ value: Value) -> Bool {
    if case .promise = value { return true }
    return stored[value.text] != nil || openCall(value.text) != nil
  }

  /// Describes what was done for each element of what is no collection as what is done with it.
  mutating func replaceElement(of source: String) {
    let each = Elements.each(source).text
    for index in events.indices where events[index].loops.contains(source) {
      events[index].loops.removeAll { $0 == source }
      events[index].key = events[index].key.replacingOccurrences(of: each, with: source)
    }
  }

  /// The call with this value, if the code hasn't waited for it.
  func openCall(_ text: String) -> Int? {
    // A case with a value is no call.
    if text.hasPrefix(".") { return nil }
    return events.lastIndex { $0.kind == .call && $0.key == text && $0.end == .max }
  }

  /// Notes that the call whose value is `text` perhaps returns a value and not a promise.
  mutating func doubtWait(for text: String) {
    guard let index = events.lastIndex(where: { $0.kind == .call && $0.key == text }) else {
      return
    }
    events[index].isKnownToBeAwaited = false
  }

  /// Methods of collections that don't depend on the order of the elements, and don't wait.
  static let orders: Set<Substring> = ["sorted", "min", "max"]

  /// Records that the code waits for the call whose value is `text`, if there is one.
  mutating func markAwaited(_ text: String) {
    let now = tick()
    guard let index = openCall(text), !Self.orders.contains(events[index].baseName[...]) else {
      return
    }
    events[index].isAwaited = true
    events[index].end = now
    events[index].waiter = list
  }
}

/// How a statement ends.
enum Flow {
  case normal(Value)
  case returned(Value)
  case thrown(Value)
  case left
  case leftChoice
  case crashed
}

/// A text that is short enough for a key: in long ones, a checksum replaces the middle.
///
/// The end stays, because it names the member of what comes before it.
func shortened(_ text: String, limit: Int = 220) -> String {
  guard text.utf8.count > limit else { return text }
  var hash: UInt64 = 14_695_981_039_346_656_037
  for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 1_099_511_628_211 }
  return text.prefix(130) + "…" + String(hash, radix: 36) + "…" + text.suffix(26)
}
