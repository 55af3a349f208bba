@_spi(DropIns) import Pledge

/// Records the events of all threads, and applies them to the traces that are recording.
///
/// A thread writes its events to its own buffer. They are applied later, in the order of their
/// times: when a report needs them, or when the buffers contain more promises than the trace of the
/// process keeps. In the second case, the promises that have since been released are skipped,
/// which is most of them, because applying an event takes much longer than recording it.
enum Recorder {
  /// What the traces need, which each event reads without a lock.
  struct Settings: AtomicValue {
    var capturesPlaces = false
    var hasScopes = false
    var isRecording = false
    /// The number of roots of which one is in the sample; 1 if there is no sample.
    var sampling: UInt32 = 1

    init() {}

    init(word: UInt64) {
      capturesPlaces = word & 1 != 0
      hasScopes = word & 2 != 0
      isRecording = word & 4 != 0
      sampling = UInt32(word >> 32)
    }

    var word: UInt64 {
      (capturesPlaces ? 1 : 0) | (hasScopes ? 2 : 0) | (isRecording ? 4 : 0)
        | UInt64(sampling) << 32
    }
  }

  private struct State {
    var ofProcess: Trace?
    var routes = Routes()
    var buffers: [EventBuffer] = []
    /// The buffers of threads that have ended.
    var unused: [EventBuffer] = []
    /// The chunks whose events have been applied since the last report.
    var spare: [EventBuffer.Chunk] = []
    /// The full chunks that aren't consumed, the oldest first: the time of the last event, and the
    /// number of promises created.
    var full: [(end: Int64, promises: Int)] = []
    var promises = 0
    var shortLived = ShortLivedPromises()
    /// The events that are being applied.
    var entries: [Entry] = []
  }

  private static let state = Mutex(State())
  private static let settingsWord = Atomic<Settings>(Settings())
  private static let epoch = SystemClock.now - 1

  static var settings: Settings { settingsWord.load(ordering: .relaxed) }

  /// Nanoseconds since the first use of the recorder.
  static var now: Int64 { SystemClock.now - epoch }

  private static let tracer = {
    // Read once, because reading a global variable takes longer.
    let key = EventBuffer.key
    return PromiseDiagnostics.Tracer { event in
      EventBuffer.current(key)._withUnsafeGuaranteedRef { $0.record(event) }
    }
  }()
}

// MARK: - Traces

extension Recorder {
  static var ofProcess: Trace? { settings.isRecording ? state.withLock { $0.ofProcess } : nil }

  static func contains(_ trace: Trace) -> Bool {
    settings.isRecording
      && state.withLock { $0.ofProcess === trace || $0.routes.traces[trace.number] != nil }
  }

  /// Adds a trace, which receives all events from now on.
  ///
  /// The trace of the process replaces the previous one.
  static func add(_ trace: Trace) {
    if trace.claimsRejections { Claims.start() }
    change { state in
      if trace.isScoped { state.routes.add(trace) } else { state.ofProcess = trace }
    }
  }

  /// Removes a trace, which then contains all events up to now.
  static func remove(_ trace: Trace) {
    change { state in
      state.routes.remove(trace)
      if state.ofProcess === trace { state.ofProcess = nil }
    }
  }

  private static func change(_ change: (inout State) -> Void) {
    let garbage = state.withLock { state in
      let old = state.ofProcess
      let garbage = consume(&state)
      change(&state)
      var settings = Settings()
      settings.isRecording = state.ofProcess != nil || !state.routes.traces.isEmpty
      settings.hasScopes = !state.routes.traces.isEmpty
      settings.capturesPlaces =
        state.ofProcess?.capturesPlaces == true || state.routes.placeCount > 0
      settings.sampling = state.ofProcess?.sampling ?? 1
      if settings.sampling > 1 { Sample.shared.removeAll() }
      settingsWord.store(settings, ordering: .relaxed)
      // Set under the lock, so the later of two changes is also the last to set the tracer.
      PromiseDiagnostics.setTracer(settings.isRecording ? tracer : nil)
      return (garbage, old)
    }
    withExtendedLifetime(garbage) {}
  }

  /// Applies all events up to now to the traces.
  static func update() {
    guard settings.isRecording else { return }
    let garbage = state.withLock { consume(&$0) }
    withExtendedLifetime(garbage) {}
  }

  /// Passes an unhandled rejection to the traces that claim it, and returns whether one stored it.
  static func claim(_ rejection: PromiseDiagnostics.UnhandledRejection, _ id: UInt) -> Bool {
    guard settings.hasScopes else { return false }
    update()
    guard let trace = state.withLock({ $0.routes.claimant(of: id) }) else { return false }
    trace.keep(rejection)
    return true
  }

  /// Records the name of a promise.
  static func record(name: () -> String, of promise: PromiseDiagnostics.PromiseID) {
    let settings = settings
    guard settings.isRecording else { return }
    let name = Payload(.name(name())).retained
    EventBuffer.current(EventBuffer.key)._withUnsafeGuaranteedRef { buffer in
      if settings.hasScopes { buffer.recordScope() }
      buffer.append(Event(.named, promise, at: now, object: name))
    }
  }
}

// MARK: - Buffers

extension Recorder {
  static func addBuffer(isMain: Bool) -> EventBuffer {
    state.withLock { state in
      if !isMain, let buffer = state.unused.popLast() {
        buffer.reuse()
        return buffer
      }
      let buffer = EventBuffer(number: state.buffers.count, isMain: isMain)
      state.buffers.append(buffer)
      return buffer
    }
  }

  /// The number of events that the chunks in memory have room for.
  static var bufferedEvents: Int {
    state.withLock { state in
      (state.buffers.map(\.chunks.count).reduce(state.spare.count, +))
        * EventBuffer.Chunk.capacity
    }
  }

  /// Keeps the buffer of a thread that has ended for another thread.
  static func recycle(_ buffer: EventBuffer) {
    state.withLock { $0.unused.append(buffer) }
  }

  /// Adds a chunk to a buffer whose last one is full, and applies old events if there are many.
  ///
  /// - Returns: The chunk, and objects that must be released outside the lock.
  static func replaceChunk(of buffer: EventBuffer) -> (EventBuffer.Chunk, [AnyObject]) {
    state.withLock { state in
      let chunk = state.spare.popLast() ?? EventBuffer.Chunk()
      chunk.reuse()
      if let last = buffer.chunks.last {
        state.full.append((last.lastTime, last.promiseCount))
        state.promises += last.promiseCount
      }
      buffer.chunks.append(chunk)
      return (chunk, consumeOldest(&state))
    }
  }

  /// Applies the oldest events if there are many more than the trace of the process keeps.
  private static func consumeOldest(_ state: inout State) -> [AnyObject] {
    let limit = state.ofProcess.map(\.limit) ?? Trace.defaultLimit
    // A few dozen chunks at a time, because threads are merged, and promises that are created and
    // released in different times aren't skipped.
    guard let limit, state.promises - max(limit / 4, 16_384) > limit else { return [] }
    var (count, end) = (0, Int64(0))
    while count < state.full.count, state.promises - state.full[count].promises >= limit {
      state.promises -= state.full[count].promises
      end = max(end, state.full[count].end)
      count += 1
    }
    state.full.removeFirst(count)
    return apply(&state, upTo: min(end, now), skipsShortLived: true)
  }

  private static func consume(_ state: inout State) -> [AnyObject] {
    // One chunk after the other, because the events of all would need as much memory as the records.
    let ends = state.full.map(\.end) + [now]
    state.full = []
    state.promises = 0
    defer { state.entries = [] }
    return ends.flatMap { apply(&state, upTo: $0, skipsShortLived: false) }
  }

  /// Applies the events up to `end`, which isn't later than now.
  ///
  /// The events of a thread that happened after an event of another thread have later times, and
  /// the other thread had already published that event. So with each event, all those on which it
  /// depends are applied.
  private static func apply(
    _ state: inout State, upTo end: Int64, skipsShortLived: Bool
  ) -> [AnyObject] {
    // Moved out and back, so that its memory is kept.
    var entries = exchange(&state.entries, with: [])
    entries.removeAll(keepingCapacity: true)
    var threads = 0
    for buffer in state.buffers where buffer.take(upTo: end, into: &entries, &state.spare) {
      threads += 1
    }
    // The order of equal times, such as those of one thread, doesn't change.
    if threads > 1 { entries.sort { $0.event.time < $1.event.time } }
    if skipsShortLived { state.shortLived.mark(&entries) }
    var garbage: [AnyObject] = []
    if let trace = state.ofProcess { garbage += trace.apply(entries) }
    if !state.routes.traces.isEmpty {
      for entry in entries { garbage += state.routes.apply(entry) as [AnyObject] }
    }
    for entry in entries { if let payload = entry.event.takePayload() { garbage.append(payload) } }
    state.entries = entries
    if !skipsShortLived { state.spare = [] }
    return garbage
  }
}

/// An event with the thread on which it happened.
struct Entry {
  let event: Event
  /// The number of the thread's buffer.
  let thread: Int
  let isMain: Bool
  /// The number of the trace in whose task it happened.
  let scope: UInt32
  /// Whether it concerns a promise that was created and released among the same events.
  var isSkipped = false
  /// Whether the other promise is such a promise.
  var isOtherSkipped = false
}

extension EventBuffer {
  /// Moves the events up to `end` to `entries`, and the chunks that are empty then to `spare`.
  ///
  /// - Returns: Whether there were any events.
  fileprivate func take(
    upTo end: Int64, into entries: inout [Entry], _ spare: inout [Chunk]
  ) -> Bool {
    let before = entries.count
    for chunk in chunks {
      let count = chunk.count.load(ordering: .acquiring)
      let events = UnsafeBufferPointer(start: chunk.events, count: count)
      var index = chunk.consumed
      while index < count, events[index].time <= end {
        if events[index].kind == .scope { scope = UInt32(events[index].other) }
        entries.append(
          Entry(event: events[index], thread: number, isMain: isMain, scope: scope))
        index += 1
      }
      chunk.consumed = index
      if chunk.consumed < Chunk.capacity { break }
    }
    // The last chunk is the thread's.
    let done = chunks.dropLast().prefix { $0.consumed == Chunk.capacity }.count
    spare += chunks.prefix(done)
    chunks.removeFirst(done)
    return entries.count > before
  }
}

extension EventBuffer.Chunk {
  fileprivate var lastTime: Int64 { events[Self.capacity - 1].time }
}

extension Event {
  /// Whether the promise, or the observer, is new.
  var createsPromise: Bool {
    switch kind {
    case .created, .observes: true
    case .attached: !flags.contains(.isKnown)
    default: false
    }
  }
}
