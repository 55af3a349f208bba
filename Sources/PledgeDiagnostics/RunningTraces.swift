@_spi(DropIns) import Pledge

/// The traces that are recording, and the events that each of them receives.
///
/// The trace of the process receives all events. A scoped trace receives only the events that can
/// concern it, which are found by promise, thread, and task, because many tests can run in
/// parallel, each with its own trace.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
enum RunningTraces {
  fileprivate struct State {
    var ofProcess: Trace?
    var scoped: [ObjectIdentifier: Trace] = [:]
    /// The scoped traces whose records contain a promise.
    var promises: [PromiseDiagnostics.PromiseID: [Trace]] = [:]
    /// The scoped traces whose handlers or waits are on a thread.
    var threads: [ThreadKey: [Trace]] = [:]
    /// The traces that claim a rejection: those of the last promise that was rejected with it.
    ///
    /// The identifier of a rejection can be reused after the rejection is deallocated. The last
    /// promise therefore decides: while a rejection exists, the promises that it rejects are newer
    /// than those of earlier rejections with the same identifier.
    var rejections: [UInt: [Trace]] = [:]
  }

  private static let state = Mutex(State())

  /// The number of traces, which can be read without the lock.
  private static let count = Atomic<Int>(0)

  static var ofProcess: Trace? { isEmpty ? nil : state.withLock { $0.ofProcess } }

  /// Whether no trace is recording; approximate while one is being added or removed.
  static var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

  static var all: [Trace] { isEmpty ? [] : state.withLock { $0.all } }

  static func contains(_ trace: Trace) -> Bool { state.withLock { $0.contains(trace) } }

  /// Adds a trace.
  ///
  /// - Returns: The trace of the process that it replaces.
  static func add(_ trace: Trace, isScoped: Bool) -> Trace? {
    state.withLock { state -> Trace? in
      defer { apply(state) }
      if isScoped {
        state.scoped[ObjectIdentifier(trace)] = trace
        return nil
      }
      return exchange(&state.ofProcess, with: trace)
    }
  }

  /// Removes a closed trace and its interests.
  static func remove(_ trace: Trace, _ interests: Interests) {
    state.withLock { state in
      state.scoped[ObjectIdentifier(trace)] = nil
      for promise in interests.promises { state.promises.remove(trace, at: promise) }
      for thread in interests.threads { state.threads.remove(trace, at: thread) }
      if trace.claimsRejections {
        for id in Array(state.rejections.keys) { state.rejections.remove(trace, at: id) }
      }
      if state.ofProcess === trace { state.ofProcess = nil }
      apply(state)
    }
  }

  /// Updates the promises and threads whose events a scoped trace receives.
  static func update(_ trace: Trace, wanted: Interests, unwanted: Interests) {
    state.withLock { state in
      guard state.contains(trace) else { return }
      for promise in wanted.promises { state.promises.insert(trace, at: promise) }
      for thread in wanted.threads { state.threads.insert(trace, at: thread) }
      for promise in unwanted.promises { state.promises.remove(trace, at: promise) }
      for thread in unwanted.threads { state.threads.remove(trace, at: thread) }
    }
  }

  /// Installs or removes the tracer and the claim.
  ///
  /// It's called under the lock, so the later of two changes is also the last to set the tracer. No
  /// trace is deallocated here: the callers of `add` and `remove` retain them.
  private static func apply(_ state: State) {
    let traces = state.all
    count.store(traces.count, ordering: .relaxed)
    if traces.contains(where: \.claimsRejections) { Claims.start() }
    guard !traces.isEmpty else { return PromiseDiagnostics.setTracer(nil) }
    PromiseDiagnostics.setTracer { event in record(event) }
  }

  private static func record(_ event: PromiseDiagnostics.TraceEvent) {
    let thread = ThreadKey.current
    let scope = Trace.scope
    let traces = state.withLock { $0.traces(for: event, on: thread, in: scope) }
    let concerned = traces.filter { $0.record(event, on: thread, isInScope: scope === $0) }
    if case .settled(let rejection?) = event.kind {
      state.withLock { state in
        let claiming = concerned.filter { $0.claimsRejections && state.contains($0) }
        state.rejections[rejection.id] = claiming.isEmpty ? nil : claiming
      }
    }
  }

  /// Passes an unhandled rejection to the traces that claim it, and returns whether one stored it.
  static func claim(_ rejection: PromiseDiagnostics.UnhandledRejection, _ id: UInt) -> Bool {
    let owners = state.withLock { $0.rejections.removeValue(forKey: id) } ?? []
    return owners.contains { $0.keep(rejection) }
  }
}

/// The promises and threads whose events can concern a scoped trace.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
struct Interests {
  var promises: [PromiseDiagnostics.PromiseID] = []
  var threads: [ThreadKey] = []
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension RunningTraces.State {
  fileprivate var all: [Trace] { scoped.values + [ofProcess].compactMap(\.self) }

  fileprivate func contains(_ trace: Trace) -> Bool {
    ofProcess === trace || scoped[ObjectIdentifier(trace)] != nil
  }

  /// Returns the traces that an event can concern, each once.
  fileprivate func traces(
    for event: PromiseDiagnostics.TraceEvent, on thread: ThreadKey, in scope: Trace?
  ) -> [Trace] {
    var traces = [ofProcess].compactMap(\.self)
    if scoped.isEmpty { return traces }
    func add(_ others: [Trace]?) {
      for trace in others ?? [] where !traces.contains(where: { $0 === trace }) {
        traces.append(trace)
      }
    }
    if let scope, contains(scope) { add([scope]) }
    add(promises[event.promise])
    add(threads[thread])
    switch event.kind {
    case .observes(let result): add(promises[result])
    case .attached(let source, _, _, _): add(promises[source])
    default: break
    }
    return traces
  }
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension Dictionary where Value == [Trace] {
  fileprivate mutating func insert(_ trace: Trace, at key: Key) {
    if self[key]?.contains(where: { $0 === trace }) == true { return }
    self[key, default: []].append(trace)
  }

  fileprivate mutating func remove(_ trace: Trace, at key: Key) {
    self[key]?.removeAll { $0 === trace }
    if self[key]?.isEmpty == true { self[key] = nil }
  }
}
