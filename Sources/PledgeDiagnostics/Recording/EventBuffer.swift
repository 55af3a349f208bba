import Foundation
@_spi(DropIns) import Pledge

/// The events of one thread, which writes them without a lock.
///
/// `@unchecked Sendable`: the lock of `Recorder` guards `unapplied` and `scope`; the rest belongs to the
/// thread, which publishes an event by increasing the count of its chunk.
final class EventBuffer: @unchecked Sendable {
  /// Some events of a thread, in the order of their times.
  ///
  /// `@unchecked Sendable`: an event isn't changed after it is published by `count`; `promiseCount` is
  /// the thread's, and the lock of `Recorder` guards `next`.
  final class Chunk: @unchecked Sendable {
    static let capacity = 1024
    static let total = Atomic<Int>(0)

    private static let size = capacity * MemoryLayout<Event>.stride

    /// Memory of its own pages, which the system has again at once when a report has used the events.
    let events: UnsafeMutablePointer<Event>
    let count = Atomic<Int>(0)
    /// The number of promises and observers that the events create; the thread's.
    @exclusivity(unchecked) var promiseCount = 0
    @exclusivity(unchecked) var next: Chunk?

    init() {
      let memory = mmap(nil, Self.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0)
      guard let memory, memory != MAP_FAILED else {
        preconditionFailure("Pledge: no memory for a trace")
      }
      events = memory.bindMemory(to: Event.self, capacity: Self.capacity)
      _ = Self.total.wrappingAdd(1, ordering: .relaxed)
    }

    deinit {
      munmap(events, Self.size)
      _ = Self.total.wrappingSubtract(1, ordering: .relaxed)
    }

    func reuse() {
      count.store(0, ordering: .relaxed)
      promiseCount = 0
      next = nil
    }
  }

  private let sample = Sample.shared
  let number: Int

  // Guarded by the recorder's lock.
  /// The first event that hasn't been applied.
  @exclusivity(unchecked) var unapplied: Cursor
  @exclusivity(unchecked) var scope: UInt32 = 0

  // The thread's.
  @exclusivity(unchecked) private var chunk: Chunk
  /// The memory of the chunk, and the number of events in it.
  @exclusivity(unchecked) private var events: UnsafeMutablePointer<Event>
  @exclusivity(unchecked) private var count = 0
  @exclusivity(unchecked) private var endOfStack: UInt
  @exclusivity(unchecked) private var recordedScope: UInt32 = 0
  /// The handlers that run on the thread, the innermost last, and whether they are in the sample.
  @exclusivity(unchecked) private var running: [(promise: UInt, isSampled: Bool)] = []
  /// The observer that is being created.
  @exclusivity(unchecked) private var observing: UInt = 0
  /// The time of the thread's last event, and the promise that it settled last.
  @exclusivity(unchecked) private var lastTime: Int64 = 0
  @exclusivity(unchecked) private var settled: UInt = 0
  @exclusivity(unchecked) private var executor: Payload?
  @exclusivity(unchecked) private var knownCallStacks = KnownCallStacks()
  @exclusivity(unchecked) private var roots: UInt32 = 0

  init(number: Int) {
    self.number = number
    chunk = Chunk()
    unapplied = Cursor(chunk)
    events = chunk.events
    endOfStack = FramePointers.endOfStack
  }

  static let key: pthread_key_t = {
    var key = pthread_key_t()
    pthread_key_create(&key) { pointer in
      let pointer: UnsafeMutableRawPointer? = pointer
      guard let pointer else { return }
      Recorder.recycle(Unmanaged<EventBuffer>.fromOpaque(pointer).takeRetainedValue())
    }
    return key
  }()

  /// Returns the buffer of the current thread, which is stored at ``key``.
  @inline(__always)
  static func current(_ key: pthread_key_t) -> Unmanaged<EventBuffer> {
    pthread_getspecific(key).map { .fromOpaque($0) } ?? add(key)
  }

  @inline(never)
  private static func add(_ key: pthread_key_t) -> Unmanaged<EventBuffer> {
    let buffer = Recorder.addBuffer()
    pthread_setspecific(key, Unmanaged.passRetained(buffer).toOpaque())
    return Unmanaged.passUnretained(buffer)
  }

  func reuse() {
    endOfStack = FramePointers.endOfStack
    running = []
  }

  func record(_ event: borrowing PromiseDiagnostics.TraceEvent) {
    let settings = Recorder.settings
    // Numbers, because the operator for identifiers isn't inlined from the library.
    let promise = event.promise.rawValue
    if settings.hasScopes { recordScope() }
    var flags: Event.Flags = []
    if settings.sampling > 1, !isSampled(event, settings.sampling) {
      flags = .isOutsideSample
      if !settings.hasScopes {
        if case .handlerStarted = event.kind { running.append((promise, false)) }
        if case .handlerReturned = event.kind { removeRunning(promise) }
        return
      }
    }
    var (other, object, callStack): (UInt, UInt, UInt32) = (0, 0, 0)
    let kind: Event.Kind
    // The closure has returned before the promise settled, so this saves reading the clock.
    var isSimultaneous = false
    switch event.kind {
    case .created(let origin):
      kind = .created
      flags.insert(.isFirst)
      other = origin.map { UInt(bitPattern: $0.fileBytes) } ?? 0
      object = origin?.line ?? 0
      if settings.capturesPlaces, origin.map(SourceLocation.isInLibrary) ?? true {
        callStack = captureCallStack(settings)
      }
    case .attached(let source, let isSettled, _, let reference, let isOperator):
      kind = .attached
      if isSettled { flags.insert(.isSettled) }
      if isOperator { flags.insert(.hasClosure) }
      if promise != observing { flags.insert(.isFirst) }
      other = source.rawValue
      object = number(of: reference)
      callStack = captureCallStack(settings)
    case .observes(let result):
      (kind, other) = (.observes, result.rawValue)
      flags.insert(.isFirst)
      observing = promise
    case .waits(.promise(let awaited)): (kind, other) = (.waits, awaited.rawValue)
    case .waits(.outside(let outside)): (kind, object) = (.waits, UInt(outside.rawValue))
    case .handlerStarted(let callsClosure):
      kind = .handlerStarted
      running.append((promise, !flags.contains(.isOutsideSample)))
      if callsClosure { flags.insert(.hasClosure) }
    case .closureSkipped: kind = .closureSkipped
    case .handlerReturned:
      kind = .handlerReturned
      removeRunning(promise)
      isSimultaneous = promise == settled
    case .adopted(let inner, let isSettled):
      (kind, other) = (.adopted, inner.rawValue)
      if isSettled { flags.insert(.isSettled) }
    case .settled(let rejection):
      kind = .settled
      // A promise that its own handler settles needs no second location.
      if running.last?.promise != promise { callStack = captureCallStack(settings) }
      settled = promise
      object = rejection.map { Payload(rejection: $0.copy).retained } ?? 0
    case .withdrawn: kind = .withdrawn
    case .cancellationRequested: kind = .cancellationRequested
    case .waitStarted(let isOnMain):
      kind = .waitStarted
      if isOnMain { object = PromiseDiagnostics.ExecutorReference.Permanent.main.rawValue }
    case .waitEnded: kind = .waitEnded
    case .released: kind = .released
    }
    if !isSimultaneous { lastTime = SystemClock.now }
    if flags.contains(.isFirst) { chunk.promiseCount += 1 }
    append(
      Event(
        time: lastTime, kind: kind, flags: flags, callStack: callStack, promise: event.promise,
        other: other, object: object))
    // The task of an `await` has no place, but it can have a name.
    if kind == .attached, flags.contains(.isFirst), flags.isDisjoint(with: .hasClosure),
      #available(macOS 26, iOS 26, tvOS 26, watchOS 26, *), let name = Task.name
    {
      record(name: name, of: event.promise, settings)
    }
  }

  private func removeRunning(_ promise: UInt) {
    while let last = running.popLast(), last.promise != promise {}
  }

  func record(
    name: String, of promise: PromiseDiagnostics.PromiseID, _ settings: Recorder.Settings
  ) {
    if settings.hasScopes { recordScope() }
    let isOutsideSample = settings.sampling > 1 && !sample.contains(promise)
    append(
      Event(
        time: SystemClock.now, kind: .named, flags: isOutsideSample ? .isOutsideSample : [],
        promise: promise, object: Payload(name: name).retained))
  }

  @inline(__always)
  private func append(_ event: Event) {
    while count == Chunk.capacity { replaceChunk() }
    (events + count).initialize(to: event)
    count += 1
    chunk.count.store(count, ordering: .releasing)
  }

  @inline(never)
  private func replaceChunk() {
    let (next, garbage) = Recorder.replace(chunk)
    chunk = next
    events = next.events
    count = 0
    // Can release users' errors, whose release can record more events.
    withExtendedLifetime(garbage) {}
  }

  private func recordScope() {
    let scope = Trace.scope?.number ?? 0
    guard scope != recordedScope else { return }
    recordedScope = scope
    let none = PromiseDiagnostics.PromiseID(rawValue: 0)
    append(Event(time: SystemClock.now, kind: .scope, promise: none, other: UInt(scope)))
  }

  private func captureCallStack(_ settings: Recorder.Settings) -> UInt32 {
    settings.capturesPlaces ? knownCallStacks.capture(endOfStack: endOfStack) : 0
  }

  private func number(of reference: PromiseDiagnostics.ExecutorReference) -> UInt {
    if let permanent = reference.permanent { return permanent.rawValue }
    let description = reference.executor
    if let executor, executor.executor == description { return executor.retained }
    let payload = Payload(executor: description)
    executor = payload
    return payload.retained
  }

  /// Returns whether an event's promise belongs to the sample: it's one of the chosen roots, waits
  /// for a promise of the sample, or was created in a handler of the sample.
  private func isSampled(
    _ event: borrowing PromiseDiagnostics.TraceEvent, _ interval: UInt32
  ) -> Bool {
    let promise = event.promise
    let isSampled: Bool
    switch event.kind {
    case .created: isSampled = running.last?.isSampled ?? isChosenRoot(interval)
    case .observes(let result): isSampled = sample.contains(result)
    case .attached(let source, _, let wasCreatedFulfilled, _, _)
    where promise.rawValue != observing:
      // What is attached to a promise that isn't recorded, such as that of `Promise.value`, is a root.
      isSampled =
        sample.contains(source)
        || (running.last?.isSampled ?? (wasCreatedFulfilled && isChosenRoot(interval)))
    case .released: return sample.remove(promise)
    default: return sample.contains(promise)
    }
    return isSampled && sample.insert(promise)
  }

  private func isChosenRoot(_ interval: UInt32) -> Bool {
    roots &+= 1
    return roots % interval == 0
  }
}

extension EventBuffer {
  /// A place among the events of a thread.
  struct Cursor {
    private var chunk: Chunk
    private var index = 0

    init(_ chunk: Chunk) { self.chunk = chunk }

    /// The time of the next event; `Int64.max` if there is none.
    var nextTime: Int64 {
      let (chunk, index) = index == Chunk.capacity ? (chunk.next, 0) : (chunk, index)
      guard let chunk, index < chunk.count.load(ordering: .acquiring) else { return .max }
      return chunk.events[index].time
    }

    /// Passes the events up to `end` to `body`, and each chunk without further events to `leave`.
    @inline(__always)
    mutating func advance(
      upTo end: Int64, _ body: (Event) -> Void, leave: (Chunk) -> Void = { _ in }
    ) {
      while true {
        let count = chunk.count.load(ordering: .acquiring)
        while index < count, chunk.events[index].time <= end {
          body(chunk.events[index])
          index += 1
        }
        guard index == Chunk.capacity, let next = chunk.next else { return }
        leave(exchange(&chunk, with: next))
        index = 0
      }
    }
  }
}
