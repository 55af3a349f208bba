import Foundation

/// Where code runs.
enum Executor: Hashable, CustomStringConvertible {
  /// The main actor or the main queue.
  case main
  /// The threads of Swift concurrency, or a global queue.
  case pool
  case queue(String)
  case actor(String)
  /// The thread of the code that calls the function.
  case caller
  /// The thread on which a callback is called, or on which a promise settles.
  case callback

  var description: String {
    switch self {
    case .main: "the main thread"
    case .pool: "a background thread"
    case .queue(let name): "the queue \(name)"
    case .actor(let name): "the actor \(name)"
    case .caller: "the caller's thread"
    case .callback: "the thread that calls back"
    }
  }
}

/// Something that a program does on a path.
struct Event {
  enum Kind { case call, set, settle, block }

  let kind: Kind
  /// What is done, independent of the names of local variables.
  var key: String
  /// The function that is called, or the variable that is set.
  let subject: String
  /// The arguments, without labels.
  let values: String
  /// Whether the call refers to a function without its labels.
  let isUnlabelled: Bool
  let place: Place
  let executor: Executor
  /// Whether the result isn't used, so that the call is there for its effect.
  var isEffect: Bool
  /// Whether the code waits for the result.
  var isAwaited = false
  /// Whether the result needs no waiting, or is perhaps waited for: the declaration isn't `async`, or
  /// the call is part of an expression under `await`.
  var needsNoWait = false
  /// Whether that is certain: without a type, the result of a handler can be a promise or a value.
  var isKnownToBeAwaited = true
  /// Whether the declaration says that the call returns a promise.
  let isPromise: Bool
  /// The list of sequential work to which the event belongs: 0 is the function itself.
  var list: Int
  let start: Int
  /// The list that starts the event, and when that list started.
  let origin: Int
  let originStart: Int
  /// The list that waits for the result, and when it has it.
  var waiter = -1
  var end = Int.max
  /// Whether a continuation is resumed, and not a promise settled.
  var isContinuation = false
  var loops: [String]
  var isParallel = false
  /// The closures that are passed, which run at a time that isn't known.
  var closures: [Callback]
  let priority: String
  /// Whether the event only happens if an optional receiver has a value.
  var isOptional = false
  /// Whether the declaration says that the result isn't nil.
  var hasValue = false
  /// Whether this changes a local variable.
  var isLocal = false
  /// Whether the declaration says that a small value is made from small ones, or a local variable is set.
  var isCheap = false
  /// Whether a lock is held, which protects what other threads use, too.
  var isLocked = false
}

/// A closure that another function calls.
struct Callback {
  let body: Body?
  /// The state of the path that passes the closure.
  let state: State?
  let home: Executor
  /// The positions of the parameters that are optional errors.
  let errors: Set<Int>
}

/// The value of an expression, as far as it is known.
indirect enum Value {
  /// A description that doesn't depend on the names of local variables.
  case plain(String)
  case promise(Int)
  case resolver(Int)
  case resolverMethod(Int, String)
  case closure(Body)
  case tuple([Value])
  case list(List)
  case group
  case elements(Elements)

  var text: String {
    switch self {
    case .plain(let text): text
    // Without its number: the versions of a function number their promises differently.
    case .promise: "promise"
    case .resolver: "resolver"
    case .resolverMethod(_, let name): "resolver.\(name)"
    case .closure: Self.functionText
    case .tuple(let values): "(" + values.map(\.text).joined(separator: ", ") + ")"
    case .list(let list): list.text
    case .group: "group"
    case .elements(let elements): elements.text
    }
  }

  /// An element of a tuple.
  func part(_ index: Int) -> Value {
    if case .tuple(let values) = self, index < values.count { return values[index] }
    return .plain("\(text).\(index)")
  }

  static var nothing: Value { .plain("()") }

  /// The text of a closure, or of a resolver in place of one.
  static let functionText = "{…}"

  var isResolver: Bool { if case .resolver = self { true } else { false } }

  /// Whether this is an array that other code changes, too.
  var isShared: Bool { if case .list(let list) = self { list.depth < 0 } else { false } }

  /// The value in a closure that runs later: other code can have changed an array.
  var asCaptured: Value {
    guard case .list(var list) = self else { return self }
    list.depth = -1
    return .list(list)
  }
}

/// The elements of an array.
struct List {
  var elements: [Value]
  /// The number of loops around the expression that creates the array; -1 if other code has it, so
  /// that a change is an effect.
  var depth: Int

  var text: String { shortened("[" + elements.map(\.text).joined(separator: ", ") + "]") }
}

/// The result of a promise, or of a function.
enum Outcome {
  case fulfilled(Value)
  case rejected(Value)
}

/// A promise that the described code creates.
struct PromiseState {
  /// The number of a promise whose resolver comes from a property.
  static let stored = -1

  var outcome: Outcome?
  /// The value on which this promise waits, if that is another one.
  var source: Value?
  /// The list with the work that settles it.
  var list: Int?
  var isContinuation = false
  var canFail = true
  /// Whether this stands for the end of a chain, which isn't a value.
  var isEnd = false
}

/// How a unit ends on a path.
enum Ending: Equatable {
  case value(String)
  case error(String)
  case crash

  var text: String {
    switch self {
    case .value(let text), .error(let text): text
    case .crash: ""
    }
  }

  func map(_ transform: (String) -> String) -> Ending {
    switch self {
    case .value(let text): .value(transform(text))
    case .error(let text): .error(transform(text))
    case .crash: self
    }
  }
}

/// One way through a unit.
struct Path {
  var decisions: [String: Bool]
  var events: [Event]
  var ending: Ending
  let endPlace: Place?
  let lists: [WorkList]
  /// The lists that have waited for other ones.
  let joins: [Int: Join]
  /// Results of handlers that perhaps return nothing, and the values that are then passed on.
  let doubts: [String: String]
  /// The values that this path waits for, and whether that is a difference if another one doesn't.
  let waits: [String: Bool]
  /// The values without which the program ends on this path.
  let present: Set<String>
  /// Whether the path runs closures in a way that isn't described.
  let isVague: Bool
  /// Whether the path creates objects of types that only its version has.
  let hasOwnObjects: Bool

  /// This path with values that handlers passed on, if `other` doesn't use their results.
  func settled(by other: Path) -> Path {
    var path = self
    for (result, passed) in doubts {
      let isUsed =
        other.ending.text.contains(result)
        || other.events.contains { $0.key != result && $0.key.contains(result) }
      if isUsed { continue }
      path.ending = ending.map { $0.replacingOccurrences(of: result, with: passed) }
      for index in path.events.indices where path.events[index].key != result {
        path.events[index].key = path.events[index].key
          .replacingOccurrences(of: result, with: passed)
      }
    }
    return path
  }

  /// Whether an event of another path has no receiver on this one: `value?.call()` does nothing if
  /// `value` is nil.
  func skips(_ event: Event) -> Bool {
    event.isOptional
      && decisions.contains { question, hasValue in
        guard !hasValue, question.hasSuffix(" != nil") else { return false }
        let subject = question.dropLast(7).prefix { $0 != "@" }
        return event.key == subject || event.key.hasPrefix(subject + ".")
      }
  }

  /// Whether the code waits for an event's result, or for the work that the event is part of.
  ///
  /// A function waits for its child tasks.
  func waits(for event: Event) -> Bool {
    var list = event.isAwaited ? event.waiter : event.list
    while let join = joins[list] { list = join.into }
    return list == 0 || lists[list].kind == .child
  }

  /// Whether an event is the last of work that the code doesn't wait for.
  func isLast(_ event: Event) -> Bool {
    !waits(for: event)
      && !events.contains { $0.isStrong && $0.list == event.list && $0.start > event.start }
  }

  /// Whether one of two calls starts while the other one is in progress.
  func overlaps(_ first: Event, _ second: Event) -> Bool {
    first.start < second.start ? isInProgress(first, at: second) : isInProgress(second, at: first)
  }

  /// Whether an event belongs to a task that has started when another event starts, and whose value
  /// the code of that event hasn't awaited: these have no order.
  func isUnawaited(_ event: Event, at other: Event) -> Bool {
    var around = [other.origin]
    while let list = around.last, list != 0 { around.append(lists[list].parent) }
    var list = event.origin
    while list != 0, !around.contains(list) {
      if [.task, .child].contains(lists[list].kind), lists[list].start < other.start,
        joins[list].map({ $0.time > other.start }) ?? true
      {
        return true
      }
      list = lists[list].parent
    }
    return false
  }

  /// Whether a call is still in progress when another event, after it, starts.
  func isInProgress(_ call: Event, at other: Event) -> Bool {
    guard call.start < other.start else { return false }
    if other.start < call.end { return true }
    var list = call.waiter
    var time = call.end
    // The code of `other` has the result if its list, or the one that started it, waited for the
    // list that has it.
    while time < other.start {
      var (own, start) = (other.origin, other.start)
      while own != list, own != 0 { (own, start) = (lists[own].parent, lists[own].start) }
      if own == list, time < start { return false }
      guard let join = joins[list] else { return true }
      list = join.into
      time = join.time
    }
    return true
  }
}

/// When a list of work has waited for another one.
struct Join {
  let into: Int
  let time: Int
}

/// A list of sequential work.
struct WorkList {
  let kind: ListKind
  /// The list that started it, and when.
  let parent: Int
  let start: Int
}

/// How a list of sequential work starts.
enum ListKind: Equatable {
  /// The function itself.
  case own
  /// The handlers of a chain: its source has started before.
  case chain
  /// A task, which starts after the code that creates it continues.
  case task
  /// A child task.
  case child
  /// A block that is sent to a queue.
  case dispatched
}
