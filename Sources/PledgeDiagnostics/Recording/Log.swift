import Pledge

/// The state of a trace: the records of promises, updated by each event.
struct Log: Sendable {
  /// The handlers and waits on a thread.
  struct Thread: Sendable {
    let number: UInt32
    let isMain: Bool
    /// The handlers that run on it, the innermost last.
    var running: [Int] = []
    /// The waits that block it, the innermost last.
    var waits: [Int] = []
    /// The observer attached last on it, and its promise, which a wait that starts next waits for.
    var lastObserver: (number: Int, promise: PromiseDiagnostics.PromiseID)?
  }

  /// A rejection, the number of records with it, and how many of these are of promises in memory.
  struct Failure: Sendable {
    let rejection: PromiseDiagnostics.Rejection
    var records = 0
    var living = 0
  }

  private(set) var records = RecordTable()
  /// The names that promises have, by their numbers.
  private(set) var names: [Int: String] = [:]
  /// When promises were cancelled directly, by their numbers.
  private(set) var cancellations: [Int: Moment] = [:]
  /// The rejections of the records, by their numbers.
  private(set) var failures: [Int: Failure] = [:]
  /// The numbers of the rejections whose promises are in memory; the identifiers are reused.
  private var failureNumbers: [UInt: Int] = [:]
  private var nextFailure = 1
  /// The threads, by the numbers of their buffers.
  private(set) var threads: [Int32: Thread] = [:]
  private(set) var forgotten = Forgotten()
  /// The unhandled rejections that the trace has claimed.
  var unhandled: [PromiseDiagnostics.UnhandledRejection] = []

  private let limit: Int?
  private let start: Int64
  private let capturesPlaces: Bool
  private var numbers: [PromiseDiagnostics.PromiseID: UInt32] = [:]
  private var nextNumber = 0
  /// The lowest number that can be in the record.
  private var oldest = 1
  /// The records to discard first, in the order in which they ended; some are already removed.
  private var ended: [UInt32] = []
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

extension Log {
  /// The promises in the record that are in memory.
  var promises: some Sequence<PromiseDiagnostics.PromiseID> { numbers.keys }

  func contains(_ promise: PromiseDiagnostics.PromiseID) -> Bool { numbers[promise] != nil }

  /// Returns the number of a promise in the record that is in memory.
  private func number(_ promise: PromiseDiagnostics.PromiseID) -> Int? {
    numbers[promise].map(Int.init)
  }

  /// Counts a promise that isn't recorded, because it has been released since.
  mutating func skip(_ entry: Entry) {
    guard entry.event.createsPromise else { return }
    _ = takeNumber()
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
      threads[key] = Thread(number: UInt32(threads.count + 1), isMain: entry.isMain)
    }
    guard let thread = threads[key] else { return }
    let moment = Moment(
      time: event.time - start, thread: thread.number, inside: thread.running.last)
    let callStack = capturesPlaces ? event.callStack : 0
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
      let result = number(event.otherPromise)
      let number = add(event.promise, .observer, moment)
      records[number]?.result = result
    case .attached:
      let number = number(event.promise) ?? add(event.promise, .observer, moment)
      let source = find(event.otherPromise, isSettled: isOtherSettled, moment)
      if let source { recognizePromise(source) }
      records[number]?.source = source
      records[number]?.isSourceSettled = isOtherSettled
      let isOperator = event.flags.contains(.hasClosure)
      let executor = event.payload ?? PermanentExecutor(rawValue: event.object)?.payload
      records[number]?.setExecutor(executor)
      records[number]?.callStack = callStack
      if isOperator, records[number]?.result == nil { records[number]?.kind = .handler }
      threads[key]?.lastObserver = isOperator ? nil : (number, event.otherPromise)
    case .handlerStarted:
      guard let number = number(event.promise) else { return }
      threads[key]?.running.append(number)
      // A handler that adopted a promise starts again to copy its result.
      if records[number]?.run == nil {
        records[number]?.run = Record.Run(
          moment, callsClosure: event.flags.contains(.hasClosure))
      }
    case .handlerReturned:
      guard let number = number(event.promise),
        let index = thread.running.lastIndex(of: number)
      else { return }
      threads[key]?.running.removeLast(thread.running.count - index)
      records[number]?.run?.end(at: moment.time)
      // By now, a promise has settled or adopted another one; an observer does neither.
      if records[number]?.adopted == nil { end(number, moment) }
    case .adopted:
      guard let number = number(event.promise),
        let inner = find(event.otherPromise, isSettled: isOtherSettled, moment), inner != number
      else { return }
      records[number]?.adopted = inner
      records[inner]?.adopter = number
    case .settled:
      guard let number = number(event.promise) else { return }
      let failure = event.payload?.rejection.map { failureNumber(of: $0) }
      settle(
        number,
        Ending(moment: moment, callStack: callStack, rejection: failure, isSettlement: true))
      if let failure, failures[failure]?.records == 0 { discard(failure) }
    case .withdrawn:
      if let number = number(event.promise) { end(number, moment) }
    case .cancellationRequested:
      guard let number = number(event.promise) else { return }
      if cancellations[number] == nil { cancellations[number] = moment }
    case .waitStarted:
      // The observer that the wait has attached. Zero if it isn't in the record; the wait counts,
      // too, so that its end isn't taken for another's.
      let number = thread.lastObserver.flatMap { $0.promise == event.promise ? $0.number : nil }
      threads[key]?.waits.append(number ?? 0)
      guard let number, records.contains(number) else { return }
      records[number]?.kind = .wait
      records[number]?.result = moment.inside
      records[number]?.run = Record.Run(moment, callsClosure: false)
    case .waitEnded:
      guard let number = threads[key]?.waits.popLast() else { return }
      records[number]?.run?.end(at: moment.time)
      end(number, moment)
    case .released:
      release(event.promise, moment)
    case .named:
      let number = number(event.promise) ?? add(event.promise, .unknown, moment)
      if case .name(let name) = event.payload?.content { names[number] = name }
    case .scope: break
    }
  }

  /// The promises that were created during the recording and are still in memory.
  var living: [Record] {
    numbers.values.compactMap { records[Int($0)] }.filter(\.isOwnPromise)
  }

  private mutating func add(
    _ id: PromiseDiagnostics.PromiseID, _ kind: Record.Kind, _ moment: Moment
  ) -> Int {
    let number = takeNumber()
    records.insert(Record(number: number, id: id, kind: kind, made: moment))
    numbers[id] = UInt32(number)
    return number
  }

  /// Returns an unused number; records keep them in 32 bits.
  private mutating func takeNumber() -> Int {
    repeat {
      nextNumber = nextNumber == UInt32.max ? 1 : nextNumber + 1
    } while records.contains(nextNumber)
    return nextNumber
  }

  /// Returns the number of a rejection.
  ///
  /// Its identifier is reused after the last promise with it was released, for another rejection.
  private mutating func failureNumber(of rejection: PromiseDiagnostics.Rejection) -> Int {
    if let number = failureNumbers[rejection.id] { return number }
    defer { nextFailure += 1 }
    failureNumbers[rejection.id] = nextFailure
    failures[nextFailure] = Failure(rejection: rejection)
    return nextFailure
  }

  /// Notes that a promise with a rejection has been released, or discarded.
  private mutating func noteRelease(of record: Record?) {
    guard let number = record?.settlement?.rejection, let failure = failures[number] else { return }
    failures[number]?.living -= 1
    if failure.living == 1 { failureNumbers[failure.rejection.id] = nil }
  }

  /// Returns the number of a promise and adds it to the record if necessary; nil if it's settled
  /// and not in the record.
  private mutating func find(
    _ id: PromiseDiagnostics.PromiseID, isSettled: Bool, _ moment: Moment
  ) -> Int? {
    if let number = number(id) { return number }
    return isSettled ? nil : add(id, .unknown, moment)
  }

  /// Changes an observer's record to that of a promise, because it was observed or settled.
  private mutating func recognizePromise(_ number: Int) {
    if let record = records[number], record.kind == .observer, record.result == nil {
      records[number]?.kind = .handler
    }
  }

  private mutating func settle(_ number: Int, _ settlement: Ending) {
    recognizePromise(number)
    guard let record = records[number], record.settlement == nil else { return }
    noteEnd(number)
    records[number]?.ending = settlement
    if let failure = settlement.rejection {
      failures[failure]?.records += 1
      failures[failure]?.living += 1
    }
  }

  private mutating func release(_ id: PromiseDiagnostics.PromiseID, _ moment: Moment) {
    guard let number = numbers.removeValue(forKey: id).map(Int.init) else { return }
    if let record = records[number], record.isPending, let inner = record.adopted,
      let outer = record.adopter, records[outer]?.adopted == number,
      records[outer]?.isPending == true
    {
      // It was in the middle of a row of adoptions; now its neighbors wait for each other.
      records[outer]?.adopted = inner
      records[inner]?.adopter = outer
    }
    end(number, moment)
    noteRelease(of: records[number])
  }
}

// MARK: - Discarding records

extension Log {
  private mutating func end(_ number: Int, _ moment: Moment) {
    guard records[number]?.isPending == true else { return }
    noteEnd(number)
    records[number]?.ending = Ending(moment: moment, rejection: nil)
  }

  /// Notes that a record can be discarded from now on, unless it has ended before.
  private mutating func noteEnd(_ number: Int) {
    if limit != nil, records[number]?.isPending == true { ended.append(UInt32(number)) }
  }

  private mutating func forgetBeyondLimit() {
    guard let limit else { return }
    while records.count > limit {
      if nextEnded < ended.count {
        forget(Int(ended[nextEnded]))
        nextEnded += 1
        // Removing half of the array at a time costs O(1) for each promise.
        if nextEnded > 64, nextEnded > ended.count / 2 {
          ended.removeFirst(nextEnded)
          nextEnded = 0
        }
        continue
      }
      while !records.contains(oldest) { oldest = oldest == UInt32.max ? 1 : oldest + 1 }
      forget(oldest)
    }
  }

  private mutating func forget(_ number: Int) {
    guard let record = records.remove(number) else { return }
    names[number] = nil
    cancellations[number] = nil
    if self.number(record.id) == number {
      numbers[record.id] = nil
      noteRelease(of: record)
    }
    if let failure = record.settlement?.rejection {
      failures[failure]?.records -= 1
      if failures[failure]?.records == 0 { discard(failure) }
    }
    if record.isPending { forgotten.pending += 1 } else { forgotten.settled += 1 }
  }

  private mutating func discard(_ failure: Int) {
    guard let rejection = failures.removeValue(forKey: failure)?.rejection else { return }
    if failureNumbers[rejection.id] == failure { failureNumbers[rejection.id] = nil }
    discarded.append(Payload(.rejection(rejection)))
  }

  /// Returns the discarded errors.
  mutating func takeDiscarded() -> [Payload] { exchange(&discarded, with: []) }
}
