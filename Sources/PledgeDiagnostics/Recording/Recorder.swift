@_spi(DropIns) import Pledge

/// Records the events of all threads, and applies them to the traces that are recording.
///
/// A thread writes its events to its own buffer. They are applied later, in the order of their
/// times: when a report needs them, or when the buffers contain more promises than the trace of the
/// process keeps. In the second case, promises that have since been released are skipped, which is
/// most of them, because applying an event takes much longer than recording it.
enum Recorder {
  /// What the traces need, which each event reads without a lock.
  struct Settings: AtomicValue {
    private(set) var word: UInt64

    init(word: UInt64) { self.word = word }

    fileprivate init(_ state: State) {
      word = UInt64(state.ofProcess?.sampling ?? 1) << 32
      if !state.routes.traces.isEmpty { word |= 4 }
      if state.ofProcess != nil || hasScopes { word |= 2 }
      if state.traces.contains(where: \.capturesPlaces) { word |= 1 }
    }

    var capturesPlaces: Bool { word & 1 != 0 }
    var isRecording: Bool { word & 2 != 0 }
    var hasScopes: Bool { word & 4 != 0 }
    /// The number of roots of which one is in the sample; 1 if there is no sample.
    var sampling: UInt32 { UInt32(word >> 32) }
  }

  fileprivate struct State {
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

    var traces: [Trace] { (ofProcess.map { [$0] } ?? []) + routes.traces.values.joined() }
  }

  private static let state = Mutex(State())
  private static let settingsWord = Atomic<Settings>(Settings(word: 1 << 32))

  static var settings: Settings { settingsWord.load(ordering: .relaxed) }

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
    Claims.start()
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
    _ = update { state in
      let old = state.ofProcess
      change(&state)
      let settings = Settings(state)
      if settings.sampling > 1 { Sample.shared.removeAll() }
      settingsWord.store(settings, ordering: .relaxed)
      // Set under the lock, so the later of two changes is also the last to set the tracer.
      PromiseDiagnostics.setTracer(settings.isRecording ? tracer : nil)
      return old
    }
  }

  /// Applies all events up to now to the traces, and returns the result of `body`.
  private static func update<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
    let (result, garbage) = state.withLock { state in
      (state.full, state.promises) = ([], 0)
      let garbage = apply(&state, upTo: SystemClock.now, isReport: true)
      return (body(&state), garbage)
    }
    withExtendedLifetime(garbage) {}
    return result
  }

  /// Returns the result of `body`, which reads logs of all events up to now, and must not run user
  /// code, because it's called under the lock.
  static func withLogs<Result: Sendable>(_ body: () -> Result) -> Result { update { _ in body() } }

  /// Notes that a rejection is reported as unhandled, and returns whether a trace claimed it and
  /// stored it.
  static func claim(_ rejection: PromiseDiagnostics.UnhandledRejection, _ id: UInt) -> Bool {
    guard settings.isRecording else { return false }
    return update { state in
      for trace in state.traces { trace.log.noteReport(of: rejection.error, id) }
      let trace = state.routes.claimant(of: id)
      trace?.log.unhandled.append(rejection)
      return trace != nil
    }
  }

  static func record(name: () -> String, of promise: PromiseDiagnostics.PromiseID) {
    let settings = settings
    guard settings.isRecording else { return }
    let name = name()
    EventBuffer.current(EventBuffer.key)._withUnsafeGuaranteedRef {
      $0.record(name: name, of: promise, settings)
    }
  }

  static func addBuffer() -> EventBuffer {
    state.withLock { state in
      if let buffer = state.unused.popLast() {
        buffer.reuse()
        return buffer
      }
      let buffer = EventBuffer(number: state.buffers.count)
      state.buffers.append(buffer)
      return buffer
    }
  }

  static func recycle(_ buffer: EventBuffer) {
    state.withLock { $0.unused.append(buffer) }
  }

  /// Returns the chunk that follows a full one, and applies old events if there are many.
  ///
  /// - Returns: The chunk, and objects that must be released outside the lock.
  static func replace(_ full: EventBuffer.Chunk) -> (EventBuffer.Chunk, [Payload]) {
    state.withLock { state in
      let chunk = state.spare.popLast() ?? EventBuffer.Chunk()
      chunk.reuse()
      full.next = chunk
      state.full.append((full.lastTime, full.promiseCount))
      state.promises += full.promiseCount
      return (chunk, consumeOldest(&state))
    }
  }

  /// Applies the oldest events if there are many more than the trace of the process keeps.
  private static func consumeOldest(_ state: inout State) -> [Payload] {
    let limit = state.ofProcess.map(\.limit) ?? Trace.defaultLimit
    // A few dozen chunks at a time, because threads are merged, and promises that are created and
    // released in different times aren't skipped.
    guard let limit, state.promises - ShortLivedPromises.capacity > limit else { return [] }
    var (count, end) = (0, Int64(0))
    while count < state.full.count, state.promises - state.full[count].promises >= limit {
      state.promises -= state.full[count].promises
      end = max(end, state.full[count].end)
      count += 1
    }
    state.full.removeFirst(count)
    return apply(&state, upTo: min(end, SystemClock.now), isReport: false)
  }

  /// Applies the events up to `end`, which isn't later than now.
  ///
  /// The events of a thread that happened after an event of another thread have later times, and
  /// the other thread had already published that event. So with each event, all those on which it
  /// depends are applied.
  ///
  /// - Parameter isReport: Whether to skip no promise, and to keep no memory for events.
  private static func apply(
    _ state: inout State, upTo end: Int64, isReport: Bool
  ) -> [Payload] {
    let trace = state.ofProcess
    let hasScopes = !state.routes.traces.isEmpty
    var garbage: [Payload] = []
    // The thread with the next event last.
    var threads = state.buffers.map { (time: $0.unapplied.nextTime, buffer: $0) }
      .filter { $0.time <= end }.sorted { $0.time > $1.time }
    state.shortLived.removeAll()
    if !isReport {
      for (_, buffer) in threads {
        var cursor = buffer.unapplied
        cursor.advance(upTo: end) { event in
          if event.kind == .released { state.shortLived.note(release: event) }
        }
      }
    }
    while let (_, buffer) = threads.popLast() {
      buffer.unapplied.advance(upTo: min(end, threads.last?.time ?? end)) { event in
        if event.kind == .scope { return buffer.scope = UInt32(event.other) }
        let isSkipped = state.shortLived.skips(event)
        if let trace, !event.flags.contains(.isOutsideSample) {
          if !isSkipped {
            trace.log.apply(
              event, of: buffer, isOtherSkipped: state.shortLived.skipsOther(of: event))
          } else if event.flags.contains(.isFirst) {
            trace.log.skipPromise()
          }
        }
        if hasScopes { state.routes.apply(event, of: buffer) }
        if let payload = event.takePayload() { garbage.append(payload) }
      } leave: { chunk in
        if !isReport { state.spare.append(chunk) }
      }
      let time = buffer.unapplied.nextTime
      if time <= end {
        let later = threads.lastIndex { $0.time > time } ?? -1
        threads.insert((time, buffer), at: later + 1)
      }
    }
    for trace in state.traces { garbage += exchange(&trace.log.discarded, with: []) }
    if isReport { state.spare = [] }
    return garbage
  }
}

extension EventBuffer.Chunk {
  fileprivate var lastTime: Int64 { events[Self.capacity - 1].time }
}
