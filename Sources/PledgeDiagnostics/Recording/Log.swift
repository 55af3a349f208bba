import Pledge

/// The state of a trace: the records of promises, updated by each event.
struct Log: Sendable {
  /// A rejection, and the number of records with it.
  struct Failure: Sendable {
    let rejection: PromiseDiagnostics.Rejection
    var records = 0
  }

  private(set) var records = RecordTable()
  private(set) var names: [Int: String] = [:]
  private(set) var cancellations: [Int: Moment] = [:]
  private(set) var failures: [Int: Failure] = [:]
  /// The number of the latest rejection with each identifier, which is reused after the rejection is
  /// deallocated.
  private var failureNumbers: [UInt: Int] = [:]
  private var nextFailure = 0
  /// The number of the rejection that was last reported as unhandled.
  private(set) var lastReported: Int?
  /// The handlers that run on each thread, the innermost last.
  private(set) var running: [[Int]] = []
  /// The indices of the threads by the numbers of their buffers.
  private var threadIndices: [Int: Int] = [:]
  /// The numbers of promises that were discarded after they had settled, and while they were pending.
  private(set) var forgottenSettled = 0
  private(set) var forgottenPending = 0
  var unhandled: [PromiseDiagnostics.UnhandledRejection] = []

  private let limit: Int?
  private let start: Int64
  private let capturesPlaces: Bool
  private var nextNumber = 0
  /// The lowest number that can be in the record.
  private var oldest = 1
  /// The records to discard first, in the order in which they ended; some are already removed.
  private var ended: [UInt32] = []
  private var nextEnded = 0
  /// The discarded rejections, whose errors must be released outside the locks, because that can
  /// release promises.
  var discarded: [Payload] = []

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
    takeNumber()
    forgottenSettled += 1
  }

  /// Counts a promise; records keep the numbers in 32 bits.
  private mutating func takeNumber() { nextNumber = nextNumber % Int(UInt32.max) + 1 }

  /// Applies an event of a thread; `isOtherSkipped` is whether the other promise isn't recorded
  /// because it was released.
  mutating func apply(_ event: Event, of buffer: EventBuffer, isOtherSkipped: Bool = false) {
    enter(event, of: buffer, isOtherSkipped)
    forgetBeyondLimit()
  }

  private mutating func enter(
    _ event: Event, of buffer: EventBuffer, _ isOtherSkipped: Bool
  ) {
    let thread = index(of: buffer)
    let moment = Moment(
      time: event.time - start, thread: UInt32(thread + 1), inside: running[thread].last)
    let callStack = capturesPlaces ? event.callStack : 0
    // A promise that was skipped has settled by now.
    let isOtherSettled = event.flags.contains(.isSettled) || isOtherSkipped

    let known = records.position(of: event.promise)
    let position: Int
    switch event.kind {
    case .created: position = add(event.promise, event.other == 0 ? .combinator : .resolver, moment)
    case .observes: position = add(event.promise, .observer, moment)
    case .attached: position = known ?? add(event.promise, .observer, moment)
    case .named: position = known ?? add(event.promise, .unknown, moment)
    default:
      guard let known else { return }
      position = known
    }
    let number = records[at: position].number

    switch event.kind {
    case .created:
      records[at: position].origin = UnsafePointer(bitPattern: event.other).map {
        PromiseDiagnostics.SourceLocation(file: $0, line: event.object)
      }
      records[at: position].callStack = callStack
    case .observes:
      if let result = records.position(of: event.otherPromise) {
        records[at: position].result = records[at: result].number
      } else {
        // The record of the observer stands for the promise, which isn't in the record.
        records[at: position].kind = .unknown
      }
    case .attached:
      let source = find(event.otherPromise, isSettled: isOtherSettled, moment)
      records[at: position].source = source.map { records[at: $0].number }
      records[at: position].executorPayload =
        event.payload ?? Payload.permanentExecutors[Int(event.object) - 1]
      records[at: position].callStack = callStack
      if event.flags.contains(.hasClosure), records[at: position].result == nil {
        records[at: position].kind = .handler
      }
    case .waits:
      if let outside = PromiseDiagnostics.Outside(rawValue: UInt8(event.object)) {
        records[at: position].outside = outside
      } else if !isOtherSkipped, let awaited = records.position(of: event.otherPromise) {
        records[at: position].source = records[at: awaited].number
      }
    case .handlerStarted:
      running[thread].append(number)
      // A handler that adopted a promise starts again to copy its result.
      if records[at: position].run == nil {
        records[at: position].run = Record.Run(
          moment, callsClosure: event.flags.contains(.hasClosure))
      }
    case .closureSkipped: records[at: position].run?.callsClosure = false
    case .handlerReturned:
      guard let index = running[thread].lastIndex(of: number) else { return }
      running[thread].removeSubrange(index...)
      records[at: position].run?.end(at: moment.time)
      // By now, a promise has settled or adopted another one; an observer does neither.
      if records[at: position].adopted == nil { end(position, Ending(moment: moment)) }
    case .adopted:
      let inner = find(event.otherPromise, isSettled: isOtherSettled, moment)
      guard let inner, inner != position else { return }
      records[at: position].adopted = records[at: inner].number
      records[at: inner].adopter = number
    case .settled:
      let failure = event.payload?.rejection.map { failureNumber(of: $0) }
      end(
        position,
        Ending(moment: moment, callStack: callStack, rejection: failure, isSettlement: true))
      if let failure, failures[failure]?.records == 0 { discard(failure) }
    case .withdrawn: end(position, Ending(moment: moment))
    case .cancellationRequested: if cancellations[number] == nil { cancellations[number] = moment }
    case .waitStarted:
      records[at: position].kind = .wait
      records[at: position].executorPayload =
        event.object == 0 ? nil : Payload.permanentExecutors[Int(event.object) - 1]
      records[at: position].result = moment.inside
      records[at: position].run = Record.Run(moment, callsClosure: false)
    case .waitEnded:
      records[at: position].run?.end(at: moment.time)
      end(position, Ending(moment: moment))
    case .released: release(position, moment)
    case .named: names[number] = event.payload?.name
    case .scope: break
    }
  }

  private mutating func index(of buffer: EventBuffer) -> Int {
    if let index = threadIndices[buffer.number] { return index }
    threadIndices[buffer.number] = running.count
    running.append([])
    return running.count - 1
  }

  /// The promises that were created during the recording and are still in memory.
  var living: [Record] {
    records.living.filter { ![.observer, .wait, .unknown].contains($0.kind) }
  }

  private mutating func add(
    _ id: PromiseDiagnostics.PromiseID, _ kind: Record.Kind, _ moment: Moment
  ) -> Int {
    repeat { takeNumber() } while records.contains(nextNumber)
    return records.insert(Record(number: nextNumber, id: id, kind: kind, made: moment))
  }

  /// Returns the number of a rejection.
  ///
  /// Its identifier can be reused after the last promise with it was released, for another one.
  private mutating func failureNumber(of rejection: PromiseDiagnostics.Rejection) -> Int {
    if let number = number(ofRejection: rejection.id, with: rejection.error) { return number }
    nextFailure += 1
    failureNumbers[rejection.id] = nextFailure
    failures[nextFailure] = Failure(rejection: rejection)
    return nextFailure
  }

  /// Returns the number of an existing rejection; nil if it isn't in the record.
  ///
  /// The record can contain an earlier rejection with the identifier, but retains its error, whose
  /// memory is therefore not that of another error.
  func number(ofRejection id: UInt, with error: any Error) -> Int? {
    guard let number = failureNumbers[id], let known = failures[number]?.rejection.error,
      // The coercions prevent the compiler from passing the values inside.
      unsafeBitCast(known as any Error, to: UInt.self)
        == unsafeBitCast(error as any Error, to: UInt.self)
    else { return nil }
    return number
  }

  mutating func noteReport(of error: any Error, _ id: UInt) {
    lastReported = number(ofRejection: id, with: error) ?? lastReported
  }

  /// Returns the position of a promise and adds it to the record if necessary; nil if it's settled
  /// and not in the record.
  private mutating func find(
    _ id: PromiseDiagnostics.PromiseID, isSettled: Bool, _ moment: Moment
  ) -> Int? {
    records.position(of: id) ?? (isSettled ? nil : add(id, .unknown, moment))
  }

  private mutating func release(_ position: Int, _ moment: Moment) {
    records.release(position)
    let record = records[at: position]
    if record.isPending, let inner = record.adopted,
      let outer = record.adopter.flatMap(records.position),
      records[at: outer].adopted == record.number, records[at: outer].isPending
    {
      // It was in the middle of a row of adoptions; now its neighbors wait for each other.
      records[at: outer].adopted = inner
      if let inner = records.position(of: inner) { records[at: inner].adopter = record.adopter }
    }
    end(position, Ending(moment: moment))
  }
}

// MARK: - Discarding records

extension Log {
  /// Notes how a record ended, which can be discarded from now on; only a settlement counts later.
  private mutating func end(_ position: Int, _ ending: Ending) {
    let record = records[at: position]
    guard record.isPending || ending.isSettlement && record.settlement == nil else { return }
    if limit != nil, record.isPending { ended.append(UInt32(record.number)) }
    records[at: position].ending = ending
    if let failure = ending.rejection { failures[failure]?.records += 1 }
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
      while !records.contains(oldest) { oldest = oldest % Int(UInt32.max) + 1 }
      forget(oldest)
    }
  }

  private mutating func forget(_ number: Int) {
    guard let record = records.remove(number) else { return }
    names[number] = nil
    cancellations[number] = nil
    if let failure = record.settlement?.rejection {
      failures[failure]?.records -= 1
      if failures[failure]?.records == 0 { discard(failure) }
    }
    if record.isPending { forgottenPending += 1 } else { forgottenSettled += 1 }
  }

  private mutating func discard(_ failure: Int) {
    guard let rejection = failures.removeValue(forKey: failure)?.rejection else { return }
    if failureNumbers[rejection.id] == failure { failureNumbers[rejection.id] = nil }
    discarded.append(Payload(rejection: rejection))
  }

  var notice: String? {
    if forgottenSettled + forgottenPending == 0 { return nil }
    return "The limit was reached: \(forgottenSettled) settled and \(forgottenPending) pending "
      + "promises were discarded."
  }
}
