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
  /// The threads, by the numbers of their buffers.
  private(set) var threads: [Int32: Thread] = [:]
  private(set) var forgotten = Forgotten()
  /// The unhandled rejections that the trace has claimed.
  var unhandled: [PromiseDiagnostics.UnhandledRejection] = []
  /// The identifiers of the rejections that are unhandled so far and belong to the trace.
  var claimed: Set<UInt> = []
  /// The time of the trace's own clock; nil if times are those of the recorder.
  var clockTime: Duration?

  private let limit: Int?
  private let start: Int64
  private let capturesPlaces: Bool
  private var numbers: [PromiseDiagnostics.PromiseID: Int] = [:]
  private var nextNumber = 1
  /// The lowest number that can be in the record.
  private var oldest = 1
  /// The records to discard first, in the order in which they ended; some are already removed.
  private var ended: [Int] = []
  private var nextEnded = 0
  /// The discarded records.
  ///
  /// They retain users' errors, whose release can release promises, so they must be released
  /// outside the locks.
  private var discarded: [Payload] = []

  init(limit: Int?, capturesPlaces: Bool, start: Int64) {
    self.limit = limit
    self.capturesPlaces = capturesPlaces
    self.start = start
  }
}

// MARK: - Events

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension Log {
  /// Returns whether an event concerns a scoped trace, which records what its body does and what
  /// results from that.
  ///
  /// - Parameter isInScope: Whether the event happens in the body's task, or in one created there.
  mutating func concerns(_ entry: Entry, isInScope: Bool) -> Bool {
    let event = entry.event
    if isInScope || numbers[event.promise] != nil
      || threads[entry.thread]?.running.isEmpty == false
    {
      return true
    }
    switch event.kind {
    case .observes: return numbers[event.otherPromise] != nil
    case .attached:
      if numbers[event.otherPromise] != nil { return true }
      // A wait that starts next doesn't block for an observer attached here earlier.
      threads[entry.thread]?.lastObserver = nil
      return false
    case .waitEnded: return threads[entry.thread]?.waits.isEmpty == false
    default: return false
    }
  }

  /// Counts a promise that isn't recorded, because it has been released since.
  mutating func skip(_ entry: Entry) {
    let event = entry.event
    if event.kind == .attached { threads[entry.thread]?.lastObserver = nil }
    guard event.createsPromise else { return }
    nextNumber += 1
    forgotten.settled += 1
  }

  /// Applies an event.
  mutating func apply(_ entry: Entry) {
    enter(entry)
    forgetBeyondLimit()
  }

  private mutating func enter(_ entry: Entry) {
    let event = entry.event
    let key = entry.thread
    if threads[key] == nil {
      threads[key] = Thread(number: threads.count + 1, isMain: entry.isMain)
    }
    guard let thread = threads[key] else { return }
    let time = clockTime ?? .nanoseconds(event.time - start)
    let moment = Moment(time: time, thread: thread.number, inside: thread.running.last)
    let callStack = capturesPlaces ? CallStacks.callStack(event.callStack) : nil
    // A promise that was skipped has settled by now.
    let isOtherSettled = event.flags.contains(.isSettled) || entry.isOtherSkipped

    switch event.kind {
    case .created:
      let origin = UnsafePointer<UInt8>(bitPattern: event.other)
      let number = add(event.promise, origin == nil ? .combinator : .resolver, moment)
      records[number]?.origin = origin.map {
        PromiseDiagnostics.SourceLocation(file: $0, line: event.object)
      }
      records[number]?.callStack = callStack
    case .observes:
      let number = add(event.promise, .observer, moment)
      let resultNumber = numbers[event.otherPromise]
      records[number]?.result = resultNumber
    case .attached:
      let number = numbers[event.promise] ?? add(event.promise, .observer, moment)
      attach(number, to: event.otherPromise, isOtherSettled, moment)
      let isOperator = event.flags.contains(.hasClosure)
      let executor = executor(of: event)
      records[number]?.executor = executor
      records[number]?.callStack = callStack
      if isOperator, records[number]?.result == nil { records[number]?.kind = .handler }
      threads[key]?.lastObserver = isOperator ? nil : number
    case .waits:
      guard let number = numbers[event.promise] else { return }
      attach(number, to: event.otherPromise, isOtherSettled, moment)
      threads[key]?.lastObserver = nil
    case .handlerStarted:
      guard let number = numbers[event.promise] else { return }
      threads[key]?.running.append(number)
      records[number]?.runs.append(
        Run(
          start: time, end: nil, thread: thread.number,
          callsClosure: event.flags.contains(.hasClosure)))
    case .handlerReturned:
      guard let number = numbers[event.promise], thread.running.contains(number) else { return }
      threads[key]?.running.removeLast(
        thread.running.count - (thread.running.lastIndex(of: number) ?? 0))
      if let last = records[number]?.runs.indices.last { records[number]?.runs[last].end = time }
      // By now, a promise has settled or adopted another one; an observer does neither.
      if let record = records[number], record.isPending, record.adopted == nil { end(number, time) }
    case .adopted:
      guard let number = numbers[event.promise] else { return }
      adopt(event.otherPromise, isOtherSettled, by: number, moment)
    case .settled:
      guard let number = numbers[event.promise] else { return }
      settle(
        number,
        Settlement(moment: moment, rejection: event.payload?.rejection, callStack: callStack))
    case .withdrawn:
      if let number = numbers[event.promise] { end(number, time) }
    case .cancellationRequested:
      guard let number = numbers[event.promise] else { return }
      if records[number]?.cancelled == nil { records[number]?.cancelled = moment }
    case .waitStarted:
      // A wait that isn't in the record counts, too, so that its end isn't taken for another's.
      threads[key]?.waits.append(thread.lastObserver ?? 0)
      guard let number = thread.lastObserver, records[number] != nil else { return }
      records[number]?.kind = .wait
      records[number]?.result = moment.inside
      records[number]?.runs = [
        Run(start: time, end: nil, thread: thread.number, callsClosure: false)
      ]
    case .waitEnded:
      guard let number = threads[key]?.waits.popLast() else { return }
      if records[number]?.runs.isEmpty == false { records[number]?.runs[0].end = time }
      end(number, time)
    case .released:
      release(event.promise, time)
    case .named:
      let number = numbers[event.promise] ?? add(event.promise, .unknown, moment)
      if case .name(let name) = event.payload?.content { records[number]?.name = name }
    case .scope, .clock: break
    }
  }

  private func executor(of event: Event) -> PromiseDiagnostics.Executor? {
    if case .executor(let executor) = event.payload?.content { return executor }
    return PermanentExecutor(rawValue: event.object)?.executor
  }

  /// The promises that were created during the recording and are still in memory.
  var living: [Record] {
    numbers.values.compactMap { records[$0] }.filter(\.isOwnPromise)
  }

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

  private mutating func forgetBeyondLimit() {
    guard let limit else { return }
    while records.count > limit {
      if nextEnded < ended.count {
        forget(ended[nextEnded])
        nextEnded += 1
        // Removing half of the array at a time costs O(1) for each promise.
        if nextEnded > 64, nextEnded > ended.count / 2 {
          ended.removeFirst(nextEnded)
          nextEnded = 0
        }
        continue
      }
      while records[oldest] == nil { oldest += 1 }
      forget(oldest)
    }
  }

  private mutating func forget(_ number: Int) {
    guard let record = records.removeValue(forKey: number) else { return }
    if let rejection = record.settlement?.rejection {
      discarded.append(Payload(.rejection(rejection)))
    }
    if numbers[record.id] == number { numbers[record.id] = nil }
    if record.isPending { forgotten.pending += 1 } else { forgotten.settled += 1 }
  }

  /// Returns the discarded errors.
  mutating func takeDiscarded() -> [Payload] { exchange(&discarded, with: []) }
}
