import Pledge

/// Finds the scoped traces that an event concerns, in a time that doesn't depend on their number.
///
/// An event concerns the trace in whose task it happens, and those that record its promise, the
/// promise to which a handler is attached, or a handler that runs on the thread.
struct Routes {
  /// The traces that are recording, by their numbers, each in an array of its own.
  private(set) var traces: [UInt32: [Trace]] = [:]
  /// The traces that record a promise.
  private var owners: [PromiseDiagnostics.PromiseID: [Trace]] = [:]
  /// The promises whose handlers run on a thread, the innermost last.
  private var running: [Int: [PromiseDiagnostics.PromiseID]] = [:]
  /// The numbers of the traces that claim rejections, by the identifiers of the rejections.
  ///
  /// An identifier can be reused after the rejection is deallocated. The last promise therefore
  /// decides: while a rejection exists, the promises that it rejects are newer than those of earlier
  /// rejections with the same identifier.
  private var claims: [UInt: UInt32] = [:]

  mutating func add(_ trace: Trace) { traces[trace.number] = [trace] }

  mutating func remove(_ trace: Trace) {
    guard traces.removeValue(forKey: trace.number) != nil else { return }
    if traces.isEmpty { return self = Routes() }
    for promise in trace.log.records.living.map(\.id) {
      owners[promise]?.removeAll { $0 === trace }
    }
  }

  mutating func apply(_ event: Event, of buffer: EventBuffer) {
    let thread = buffer.number
    var concerned = union(traces[buffer.scope] ?? [], owners[event.promise] ?? [])
    for outer in running[thread] ?? [] { concerned = union(concerned, owners[outer] ?? []) }
    if event.kind == .attached || event.kind == .observes {
      concerned = union(concerned, owners[event.otherPromise] ?? [])
    }
    if let rejection = event.payload?.rejection {
      claims[rejection.id] = concerned.first { $0.claimsRejections }?.number
    }
    for trace in concerned { trace.log.apply(event, of: buffer) }
    switch event.kind {
    case .handlerStarted: running[thread, default: []].append(event.promise)
    case .handlerReturned:
      if let index = running[thread]?.lastIndex(of: event.promise) {
        running[thread]?.removeSubrange(index...)
      }
    case .released: owners[event.promise] = nil
    case .created, .named, .observes, .attached, .adopted:
      if event.kind == .created { owners[event.promise] = nil }
      note(concerned, own: event.promise)
      if event.kind != .created, event.kind != .named { note(concerned, own: event.otherPromise) }
    default: break
    }
  }

  /// Notes which of the traces have a promise in their records.
  private mutating func note(_ traces: [Trace], own promise: PromiseDiagnostics.PromiseID) {
    let owning = traces.filter { $0.log.records.position(of: promise) != nil }
    if !owning.isEmpty { owners[promise] = union(owners[promise] ?? [], owning) }
  }

  private func union(_ traces: [Trace], _ others: [Trace]) -> [Trace] {
    if traces.isEmpty { return others }
    let new = others.filter { other in !traces.contains { $0 === other } }
    return new.isEmpty ? traces : traces + new
  }

  mutating func claimant(of rejection: UInt) -> Trace? {
    claims.removeValue(forKey: rejection).flatMap { traces[$0]?.first }
  }
}
