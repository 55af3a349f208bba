/// The state of one path while code is executed symbolically.
struct State {
  var environment: [String: Value] = [:]
  var decisions: [String: Bool] = [:]
  var events: [Event] = []
  var lists: [ListKind] = [.own]
  var listStarts = [0]
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
  /// How often each variable has been set on this path.
  var assigned: [String: Int] = [:]
  /// The promises and tasks that this path has stored in properties.
  var stored: [String: Value] = [:]
  /// The local variables, of which a change of a member makes another value.
  var variables: Set<String> = []
  /// The results of `map` with a closure that starts work for each element.
  var mapped: [String: Elements] = [:]
  /// Results of handlers that perhaps return nothing, and the values that are then passed on.
  var doubts: [String: String] = [:]
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

  init(executor: Executor) { self.executor = executor }

  mutating func tick() -> Int {
    clock += 1
    return clock
  }

  mutating func startList(_ kind: ListKind) -> Int {
    lists.append(kind)
    listStarts.append(tick())
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

  /// Notes that the call whose value is `text` perhaps returns a value and not a promise.
  mutating func doubtWait(for text: String) {
    guard let index = events.lastIndex(where: { $0.kind == .call && $0.key == text }) else {
      return
    }
    events[index].isKnownToBeAwaited = false
  }

  /// Records that the code waits for the call whose value is `text`; returns whether there is one.
  mutating func markAwaited(_ text: String, parallel: Bool = false) {
    let now = tick()
    for index in events.indices.reversed() where events[index].kind == .call {
      guard events[index].key == text, events[index].end == .max else { continue }
      events[index].isAwaited = true
      events[index].end = now
      events[index].waiter = list
      if parallel { events[index].isParallel = true }
      return
    }
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
