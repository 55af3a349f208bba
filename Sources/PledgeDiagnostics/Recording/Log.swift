import Pledge

/// The state of a trace: the records of promises, updated by each event.
struct Log: Sendable {
  /// A thread, and the handlers that run on it.
  struct Thread: Sendable {
    var number: UInt32 = 0
    var isMain = false
    /// The handlers that run on it, the innermost last.
    var running: [Int] = []
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
  /// The threads, by the numbers of their buffers; the number of one without events is zero.
  private var byBuffer: [Thread] = []
  /// The numbers of promises that were discarded after they had settled, and while they were pending.
  private(set) var forgottenSettled = 0
  private(set) var forgottenPending = 0
  /// The unhandled rejections that the trace has claimed.
  var unhandled: [PromiseDiagnostics.UnhandledRejection] = []

  private let limit: Int?
  private let start: Int64
  private let capturesPlaces: Bool
  private var nextNumber = 0
  private var reusesNumbers = false
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
  /// Counts a promise that isn't recorded, because it has been released since.
  mutating func skipPromise() {
    _ = takeNumber()
    forgottenSettled += 1
  }

  /// Applies an event of a thread; `isOtherSkipped` is whether the other promise isn't recorded
  /// because it was released.
  mutating func apply(_ event: Event, of buffer: EventBuffer, isOtherSkipped: Bool = false) {
    enter(event, of: buffer, isOtherSkipped)
    forgetBeyondLimit()
  }

  private mutating func enter(
    _ event: Event, of buffer: EventBuffer, _ isOtherSkipped: Bool
  ) {
    let thread = buffer.number
    noteThread(of: buffer)
    let moment = Moment(
      time: event.time - start, thread: byBuffer[thread].number,
      inside: byBuffer[thread].running.last)
    let callStack = capturesPlaces ? event.callStack : 0
    // A promise that was skipped has settled by now.
    let isOtherSettled = event.flags.contains(.isSettled) || isOtherSkipped

    switch event.kind {
    case .created:
      let origin = UnsafePointer<UInt8>(bitPattern: event.other)
      let position = add(event.promise, origin == nil ? .combinator : .resolver, moment)
      records[at: position].origin = origin.map {
        PromiseDiagnostics.SourceLocation(file: $0, line: event.object)
      }
      records[at: position].callStack = callStack
    case .observes:
      let result = number(event.otherPromise)
      let position = add(event.promise, .observer, moment)
      records[at: position].result = result
    case .attached:
      let position = records.position(of: event.promise) ?? add(event.promise, .observer, moment)
      let source = find(event.otherPromise, isSettled: isOtherSettled, moment)
      if let source { recognizePromise(at: source) }
      records[at: position].source = source.map { records[at: $0].number }
      let isOperator = event.flags.contains(.hasClosure)
      records[at: position].executorPayload =
        event.payload ?? Payload.permanentExecutors[Int(event.object) - 1]
      records[at: position].callStack = callStack
      if isOperator, records[at: position].result == nil { records[at: position].kind = .handler }
    case .handlerStarted:
      guard let position = records.position(of: event.promise) else { return }
      byBuffer[thread].running.append(records[at: position].number)
      // A handler that adopted a promise starts again to copy its result.
      if records[at: position].run == nil {
        records[at: position].run = Record.Run(
          moment, callsClosure: event.flags.contains(.hasClosure))
      }
    case .handlerReturned:
      guard let position = records.position(of: event.promise) else { return }
      let number = records[at: position].number
      guard let index = byBuffer[thread].running.lastIndex(of: number) else { return }
      byBuffer[thread].running.removeSubrange(index...)
      records[at: position].run?.end(at: moment.time)
      // By now, a promise has settled or adopted another one; an observer does neither.
      if records[at: position].adopted == nil { end(position, moment) }
    case .adopted:
      guard let position = records.position(of: event.promise),
        let inner = find(event.otherPromise, isSettled: isOtherSettled, moment), inner != position
      else { return }
      records[at: position].adopted = records[at: inner].number
      records[at: inner].adopter = records[at: position].number
    case .settled:
      guard let position = records.position(of: event.promise) else { return }
      let failure = event.payload?.rejection.map { failureNumber(of: $0) }
      settle(
        position,
        Ending(moment: moment, callStack: callStack, rejection: failure, isSettlement: true))
      if let failure, failures[failure]?.records == 0 { discard(failure) }
    case .withdrawn:
      if let position = records.position(of: event.promise) { end(position, moment) }
    case .cancellationRequested:
      guard let number = number(event.promise) else { return }
      if cancellations[number] == nil { cancellations[number] = moment }
    case .waitStarted:
      guard let position = records.position(of: event.promise) else { return }
      records[at: position].kind = .wait
      records[at: position].result = moment.inside
      records[at: position].run = Record.Run(moment, callsClosure: false)
    case .waitEnded:
      guard let position = records.position(of: event.promise) else { return }
      records[at: position].run?.end(at: moment.time)
      end(position, moment)
    case .released:
      release(event.promise, moment)
    case .named:
      let position = records.position(of: event.promise) ?? add(event.promise, .unknown, moment)
      names[records[at: position].number] = event.payload?.name
    case .scope: break
    }
  }

  private mutating func noteThread(of buffer: EventBuffer) {
    while byBuffer.count <= buffer.number { byBuffer.append(Thread()) }
    guard byBuffer[buffer.number].number == 0 else { return }
    byBuffer[buffer.number] = Thread(number: UInt32(threads.count + 1), isMain: buffer.isMain)
  }

  var threads: [Thread] { byBuffer.filter { $0.number > 0 } }

  /// The promises that were created during the recording and are still in memory.
  var living: [Record] { records.living.filter(\.isOwnPromise) }

  /// Returns the number of a promise in the record that is in memory.
  private func number(_ promise: PromiseDiagnostics.PromiseID) -> Int? {
    records.position(of: promise).map { records[at: $0].number }
  }

  /// Whether a promise that is in memory is in the record.
  func contains(_ promise: PromiseDiagnostics.PromiseID) -> Bool {
    records.position(of: promise) != nil
  }

  /// Adds a record, and returns its position.
  private mutating func add(
    _ id: PromiseDiagnostics.PromiseID, _ kind: Record.Kind, _ moment: Moment
  ) -> Int {
    records.insert(Record(number: takeNumber(), id: id, kind: kind, made: moment))
  }

  /// Returns an unused number; records keep them in 32 bits.
  private mutating func takeNumber() -> Int {
    repeat {
      if nextNumber == UInt32.max { (nextNumber, reusesNumbers) = (0, true) }
      nextNumber += 1
    } while reusesNumbers && records.contains(nextNumber)
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
  private mutating func noteRelease(of record: Record) {
    guard let number = record.settlement?.rejection, let failure = failures[number] else { return }
    failures[number]?.living -= 1
    if failure.living == 1 { failureNumbers[failure.rejection.id] = nil }
  }

  /// Returns the position of a promise and adds it to the record if necessary; nil if it's settled
  /// and not in the record.
  private mutating func find(
    _ id: PromiseDiagnostics.PromiseID, isSettled: Bool, _ moment: Moment
  ) -> Int? {
    records.position(of: id) ?? (isSettled ? nil : add(id, .unknown, moment))
  }

  /// Changes an observer's record to that of a promise, because it was observed or settled.
  private mutating func recognizePromise(at position: Int) {
    if records[at: position].kind == .observer, records[at: position].result == nil {
      records[at: position].kind = .handler
    }
  }

  private mutating func settle(_ position: Int, _ settlement: Ending) {
    recognizePromise(at: position)
    guard records[at: position].settlement == nil else { return }
    noteEnd(position)
    records[at: position].ending = settlement
    if let failure = settlement.rejection {
      failures[failure]?.records += 1
      failures[failure]?.living += 1
    }
  }

  private mutating func release(_ id: PromiseDiagnostics.PromiseID, _ moment: Moment) {
    guard let position = records.release(id) else { return }
    let record = records[at: position]
    if record.isPending, let inner = record.adopted,
      let outer = record.adopter.flatMap(records.position),
      records[at: outer].adopted == record.number, records[at: outer].isPending
    {
      // It was in the middle of a row of adoptions; now its neighbors wait for each other.
      records[at: outer].adopted = inner
      if let inner = records.position(of: inner) { records[at: inner].adopter = record.adopter }
    }
    end(position, moment)
    noteRelease(of: record)
  }
}

// MARK: - Discarding records

extension Log {
  private mutating func end(_ position: Int, _ moment: Moment) {
    guard records[at: position].isPending else { return }
    noteEnd(position)
    records[at: position].ending = Ending(moment: moment, rejection: nil)
  }

  /// Notes that a record can be discarded from now on, unless it has ended before.
  private mutating func noteEnd(_ position: Int) {
    if limit != nil, records[at: position].isPending {
      ended.append(UInt32(records[at: position].number))
    }
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
    guard let (record, isLiving) = records.remove(number) else { return }
    names[number] = nil
    cancellations[number] = nil
    if isLiving { noteRelease(of: record) }
    if let failure = record.settlement?.rejection {
      failures[failure]?.records -= 1
      if failures[failure]?.records == 0 { discard(failure) }
    }
    if record.isPending { forgottenPending += 1 } else { forgottenSettled += 1 }
  }

  private mutating func discard(_ failure: Int) {
    guard let rejection = failures.removeValue(forKey: failure)?.rejection else { return }
    if failureNumbers[rejection.id] == failure { failureNumbers[rejection.id] = nil }
    discarded.append(Payload(.rejection(rejection)))
  }

  /// What a report says about discarded promises; nil if there are none.
  var notice: String? {
    if forgottenSettled + forgottenPending == 0 { return nil }
    return "The limit was reached: \(forgottenSettled) settled and \(forgottenPending) pending "
      + "promises were discarded."
  }

  /// Returns the discarded errors.
  mutating func takeDiscarded() -> [Payload] { exchange(&discarded, with: []) }
}
