import Pledge

/// The state of a trace: the records of promises, updated by each event.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
struct Log: Sendable {
  /// The handlers and waits on a thread.
  struct Thread: Sendable {
    let number: Int
    let isMain: Bool
    /// The handlers that run on it, the innermost last.
    var running: [Int] = []
    /// The waits that block it, the innermost last.
    var waits: [Int] = []
    /// The observer attached last on it; a wait that starts next blocks for this observer.
    var lastObserver: Int?
  }

  private(set) var records: [Int: Record] = [:]
  private(set) var threads: [ThreadKey: Thread] = [:]
  private(set) var forgotten = Forgotten()
  var isOpen = true
  /// The unhandled rejections that the trace has claimed.
  var unhandled: [PromiseDiagnostics.UnhandledRejection] = []

  private let limit: Int?
  private var numbers: [PromiseDiagnostics.PromiseID: Int] = [:]
  private var nextNumber = 1
  /// The lowest number that can be in the record.
  private var oldest = 1
  /// The records to discard first, in the order in which they ended; some are already removed.
  private var ended: [Int] = []
  private var nextEnded = 0
  /// The captured call stacks, each stored once.
  private var callStacks: Set<CallStack> = []

  init(limit: Int?) { self.limit = limit }

  /// Returns whether the innermost handler on this thread is the one that settles this promise.
  func isHandled(_ promise: PromiseDiagnostics.PromiseID, on key: ThreadKey) -> Bool {
    guard let number = numbers[promise], let running = threads[key]?.running.last else {
      return false
    }
    return running == number || records[running]?.linkedTo == number
  }
}

// MARK: - Events

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension Log {
  /// Returns whether an event concerns a scoped trace, which records what its body does and what
  /// results from that.
  ///
  /// - Parameter isInScope: Whether the event happens in the body's task, or in one created there.
  mutating func concerns(
    _ event: PromiseDiagnostics.TraceEvent, on key: ThreadKey, isInScope: Bool
  ) -> Bool {
    if isInScope || numbers[event.promise] != nil || threads[key]?.running.isEmpty == false {
      return true
    }
    switch event.kind {
    case .observes(let result): return numbers[result] != nil
    case .attached(let source, _, _, _):
      if numbers[source] != nil { return true }
      // A wait that starts next doesn't block for an observer attached here earlier.
      threads[key]?.lastObserver = nil
      return false
    case .waitEnded: return threads[key]?.waits.isEmpty == false
    default: return false
    }
  }

  /// Returns whether events of other promises on this thread can concern the trace.
  func isInterested(in key: ThreadKey) -> Bool {
    guard let thread = threads[key] else { return false }
    return !thread.running.isEmpty || !thread.waits.isEmpty || thread.lastObserver != nil
  }

  /// The promises and threads whose events can concern the trace.
  var interests: Interests {
    Interests(promises: Array(numbers.keys), threads: Array(threads.keys))
  }

  /// Records an event.
  ///
  /// - Returns: The discarded records. They retain users' errors, whose release can release
  ///   promises, so the caller must release them outside the log's lock.
  mutating func apply(
    _ event: PromiseDiagnostics.TraceEvent, at time: Duration, on key: ThreadKey,
    callStack: CallStack?
  ) -> [Record] {
    enter(event, at: time, on: key, callStack: callStack)
    return forgetBeyondLimit()
  }

  private mutating func enter(
    _ event: PromiseDiagnostics.TraceEvent, at time: Duration, on key: ThreadKey,
    callStack: CallStack?
  ) {
    if threads[key] == nil { threads[key] = Thread(number: threads.count + 1, isMain: key.isMain) }
    guard let thread = threads[key] else { return }
    let moment = Moment(time: time, thread: thread.number, inside: thread.running.last)
    let callStack = callStack.map { keep($0) }

    switch event.kind {
    case .created(let origin):
      let number = add(event.promise, origin == nil ? .combinator : .resolver, moment)
      records[number]?.origin = origin
      records[number]?.callStack = callStack
    case .observes(let result):
      let number = add(event.promise, .observer, moment)
      let resultNumber = numbers[result]
      records[number]?.result = resultNumber
    case .attached(let source, let isSettled, let executor, let isOperator):
      let number = numbers[event.promise] ?? add(event.promise, .observer, moment)
      attach(number, to: source, isSettled, moment)
      if records[number]?.executor == nil {
        records[number]?.executor = executor
        records[number]?.callStack = callStack
        if isOperator, records[number]?.result == nil { records[number]?.kind = .handler }
      }
      threads[key]?.lastObserver = isOperator ? nil : number
    case .handlerStarted(let callsClosure):
      guard let number = numbers[event.promise] else { return }
      threads[key]?.running.append(number)
      records[number]?.runs.append(
        Run(start: time, end: nil, thread: thread.number, callsClosure: callsClosure))
    case .handlerReturned:
      guard let number = numbers[event.promise], thread.running.contains(number) else { return }
      threads[key]?.running.removeLast(
        thread.running.count - (thread.running.lastIndex(of: number) ?? 0))
      if let last = records[number]?.runs.indices.last { records[number]?.runs[last].end = time }
      // By now, a promise has settled or adopted another one; an observer does neither.
      if let record = records[number], record.isPending, record.adopted == nil { end(number, time) }
    case .adopted(let inner, let isSettled):
      guard let number = numbers[event.promise] else { return }
      adopt(inner, isSettled, by: number, moment)
    case .settled(let rejection):
      guard let number = numbers[event.promise] else { return }
      settle(
        number, Settlement(moment: moment, rejection: rejection, callStack: callStack))
    case .withdrawn:
      if let number = numbers[event.promise] { end(number, time) }
    case .cancellationRequested:
      guard let number = numbers[event.promise] else { return }
      if records[number]?.cancelled == nil { records[number]?.cancelled = moment }
    case .waitStarted:
      guard let number = thread.lastObserver, records[number] != nil else { return }
      records[number]?.kind = .wait
      records[number]?.result = moment.inside
      records[number]?.runs = [
        Run(start: time, end: nil, thread: thread.number, callsClosure: false)
      ]
      threads[key]?.waits.append(number)
    case .waitEnded:
      guard let number = threads[key]?.waits.popLast() else { return }
      if records[number]?.runs.isEmpty == false { records[number]?.runs[0].end = time }
      end(number, time)
    case .released:
      release(event.promise, time)
    }
  }

  /// Gives a promise a name and adds it to the record if necessary.
  ///
  /// - Returns: The discarded records.
  mutating func name(
    _ promise: PromiseDiagnostics.PromiseID, _ name: String, at time: Duration, on key: ThreadKey
  ) -> [Record] {
    if threads[key] == nil { threads[key] = Thread(number: threads.count + 1, isMain: key.isMain) }
    guard let thread = threads[key] else { return [] }
    let moment = Moment(time: time, thread: thread.number, inside: thread.running.last)
    let number = numbers[promise] ?? add(promise, .unknown, moment)
    records[number]?.name = name
    return forgetBeyondLimit()
  }

  /// The promises that were created during the recording and are still in memory.
  var living: [Record] {
    numbers.values.compactMap { records[$0] }.filter(\.isOwnPromise)
  }

  /// Returns whether a promise is in the record.
  func contains(_ promise: PromiseDiagnostics.PromiseID) -> Bool { numbers[promise] != nil }

  private mutating func add(
    _ id: PromiseDiagnostics.PromiseID, _ kind: Record.Kind, _ moment: Moment
  ) -> Int {
    let number = nextNumber
    nextNumber += 1
    records[number] = Record(number: number, id: id, kind: kind, made: moment)
    numbers[id] = number
    return number
  }

  /// Returns the number of a promise and adds it to the record if necessary; nil if it's settled
  /// and not in the record.
  private mutating func find(
    _ id: PromiseDiagnostics.PromiseID, isSettled: Bool, _ moment: Moment
  ) -> Int? {
    if let number = numbers[id] { return number }
    return isSettled ? nil : add(id, .unknown, moment)
  }

  private mutating func attach(
    _ number: Int, to source: PromiseDiagnostics.PromiseID, _ isSettled: Bool, _ moment: Moment
  ) {
    if let inner = records[number]?.adopted {
      // It observes the promise that its handler returned, so the two aren't linked.
      if records[inner]?.linkedTo == number { records[inner]?.linkedTo = nil }
      return
    }
    let source = find(source, isSettled: isSettled, moment)
    if let source { recognizePromise(source) }
    records[number]?.source = source
    records[number]?.isSourceSettled = isSettled
  }

  private mutating func adopt(
    _ inner: PromiseDiagnostics.PromiseID, _ isSettled: Bool, by number: Int, _ moment: Moment
  ) {
    guard let inner = find(inner, isSettled: isSettled, moment), inner != number else { return }
    records[number]?.adopted = inner
    if !isSettled, records[inner]?.linkedTo == nil, !contains(inner, above: number) {
      records[inner]?.linkedTo = number
    }
  }

  /// Returns whether `number` is already linked to `inner`, directly or indirectly, so that linking
  /// `inner` to it would create a cycle.
  private func contains(_ inner: Int, above number: Int) -> Bool {
    var next: Int? = number
    while let outer = next {
      if outer == inner { return true }
      next = records[outer]?.linkedTo
    }
    return false
  }

  /// Changes an observer's record to that of a promise, because it was observed or settled.
  private mutating func recognizePromise(_ number: Int) {
    if let record = records[number], record.kind == .observer, record.result == nil {
      records[number]?.kind = .handler
    }
  }

  private mutating func settle(_ number: Int, _ settlement: Settlement) {
    recognizePromise(number)
    var outer = number
    while true {
      if records[outer]?.settlement == nil {
        records[outer]?.settlement = settlement
        end(outer, settlement.moment.time)
      }
      // The promises linked to it have settled with it.
      guard let inner = records[outer]?.adopted, records[inner]?.linkedTo == outer else { return }
      outer = inner
    }
  }

  private mutating func release(_ id: PromiseDiagnostics.PromiseID, _ time: Duration) {
    guard let number = numbers.removeValue(forKey: id) else { return }
    if let record = records[number], record.settlement == nil, let outer = record.linkedTo,
      records[outer]?.adopted == number
    {
      // It was inside a chain of linked promises; links its neighbors to each other.
      records[outer]?.adopted = record.adopted
      if let inner = record.adopted, records[inner]?.linkedTo == number {
        records[inner]?.linkedTo = outer
      }
    }
    end(number, time)
  }
}

// MARK: - Discarding records

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension Log {
  private mutating func end(_ number: Int, _ time: Duration) {
    guard records[number] != nil, records[number]?.ended == nil else { return }
    records[number]?.ended = time
    if limit != nil { ended.append(number) }
  }

  private mutating func keep(_ callStack: CallStack) -> CallStack {
    // The number of source locations is limited, but recursion produces many different stacks.
    if let limit, callStacks.count > max(limit, 1024) { callStacks = [] }
    return callStacks.insert(callStack).memberAfterInsert
  }

  private mutating func forgetBeyondLimit() -> [Record] {
    guard let limit else { return [] }
    var forgotten: [Record] = []
    while records.count > limit {
      if nextEnded < ended.count {
        if let record = forget(ended[nextEnded]) { forgotten.append(record) }
        nextEnded += 1
        // Removing half of the array at a time costs O(1) for each promise.
        if nextEnded > 64, nextEnded > ended.count / 2 {
          ended.removeFirst(nextEnded)
          nextEnded = 0
        }
        continue
      }
      while records[oldest] == nil { oldest += 1 }
      if let record = forget(oldest) { forgotten.append(record) }
    }
    return forgotten
  }

  private mutating func forget(_ number: Int) -> Record? {
    guard let record = records.removeValue(forKey: number) else { return nil }
    if numbers[record.id] == number { numbers[record.id] = nil }
    if record.isPending { forgotten.pending += 1 } else { forgotten.settled += 1 }
    return record
  }
}

extension PromiseDiagnostics.TraceEvent {
  /// The promises that the event can add to a record, or remove from it.
  var promises: [PromiseDiagnostics.PromiseID] {
    switch kind {
    case .attached(let source, _, _, _): [promise, source]
    case .adopted(let inner, _): [promise, inner]
    case .observes(let result): [promise, result]
    default: [promise]
    }
  }
}
