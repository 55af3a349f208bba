import Foundation
import Pledge

/// A recording of what happens to promises, and the reports about it.
///
/// ```swift
/// let trace = Trace.start()
/// // … until the program hangs …
/// print(trace.pendingTree())
/// ```
///
/// ``start(limit:capturesPlaces:clock:)`` records all promises of the process; only one such trace
/// can be recording at a time. ``recording(limit:capturesPlaces:clock:_:)`` records what one
/// closure does; any number of these can be recording. While no trace is recording, a promise only
/// checks a flag.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
public final class Trace: Sendable {
  private let log: Mutex<Log>
  private let time: @Sendable () -> Duration
  private let callStacks: CallStackReader?
  /// Whether it records only what its body does.
  private let isScoped: Bool
  /// Whether it stores the unhandled rejections that belong to it, so that they aren't reported.
  let claimsRejections: Bool

  /// The trace of the closure that the task runs, or in which the task was created.
  @TaskLocal static var scope: Trace?

  private init(
    limit: Int?, capturesPlaces: Bool, isScoped: Bool, claimsRejections: Bool = false,
    time: @escaping @Sendable () -> Duration
  ) {
    log = Mutex(Log(limit: limit.map { max($0, 1) }))
    self.time = time
    self.isScoped = isScoped
    self.claimsRejections = claimsRejections
    callStacks = capturesPlaces ? CallStackReader() : nil
  }

  /// Starts recording everything that happens to promises in the process.
  ///
  /// If another such trace is recording, it is stopped.
  ///
  /// - Parameters:
  ///   - limit: The maximum number of promises in the record; values below one count as one, and
  ///     nil is no limit. Beyond the limit, the trace discards the promises that settled first, and
  ///     then the oldest; ``forgotten`` and every report state how many. A promise takes about a
  ///     kilobyte.
  ///   - capturesPlaces: Whether to find the source locations of operators, which takes about 5 µs
  ///     for each promise. Promises with a resolver have a source location in any case. On Apple
  ///     platforms, operators have none.
  ///   - clock: The clock that measures times.
  @discardableResult
  public static func start(
    limit: Int? = 50_000, capturesPlaces: Bool = true,
    clock: any Clock<Duration> = ContinuousClock()
  ) -> Trace {
    let trace = Trace(
      limit: limit, capturesPlaces: capturesPlaces, isScoped: false, time: stopwatch(clock))
    if let old = RunningTraces.add(trace, isScoped: false) { old.close() }
    return trace
  }

  /// Records what `body` does to promises, and what happens to the promises that it creates or
  /// observes, on any thread.
  ///
  /// What other parts of the program do with their own promises isn't recorded, so tests that use
  /// such traces can run in parallel. The trace is passed to `body` and stopped when `body`
  /// returns; its reports remain available. A promise belongs to the trace if it is created in the
  /// task of `body`, in a task created there, in a handler of a promise that belongs to the trace,
  /// or by attaching a handler to such a promise.
  ///
  /// For the parameters, see ``start(limit:capturesPlaces:clock:)``. Rethrows the errors of `body`.
  public static func recording<Result>(
    limit: Int? = 50_000, capturesPlaces: Bool = true,
    clock: any Clock<Duration> = ContinuousClock(), _ body: (Trace) throws -> Result
  ) rethrows -> Result {
    let trace = Trace(
      limit: limit, capturesPlaces: capturesPlaces, isScoped: true, time: stopwatch(clock))
    _ = RunningTraces.add(trace, isScoped: true)
    defer { trace.stop() }
    return try $scope.withValue(trace) { try body(trace) }
  }

  /// Records what `body` does to promises, and what happens to the promises that it creates or
  /// observes, on any thread.
  ///
  /// This is the asynchronous form of ``recording(limit:capturesPlaces:clock:_:)``.
  public static func recording<Result>(
    limit: Int? = 50_000, capturesPlaces: Bool = true,
    clock: any Clock<Duration> = ContinuousClock(),
    isolation: isolated (any Actor)? = #isolation, _ body: (Trace) async throws -> Result
  ) async rethrows -> Result {
    let trace = Trace(
      limit: limit, capturesPlaces: capturesPlaces, isScoped: true, time: stopwatch(clock))
    return try await trace.record(body)
  }

  /// Records what `body` does to promises, and keeps the unhandled rejections of its promises for
  /// ``leftovers()`` instead of reporting them.
  package static func checking<Result>(
    isolation: isolated (any Actor)? = #isolation, _ body: (Trace) async throws -> Result
  ) async rethrows -> Result {
    let trace = Trace(
      limit: 50_000, capturesPlaces: true, isScoped: true, claimsRejections: true,
      time: stopwatch(ContinuousClock()))
    return try await trace.record(body)
  }

  private func record<Result>(
    isolation: isolated (any Actor)? = #isolation, _ body: (Trace) async throws -> Result
  ) async rethrows -> Result {
    _ = RunningTraces.add(self, isScoped: true)
    defer { stop() }
    return try await Self.$scope.withValue(self) { try await body(self) }
  }

  /// The trace of the closure that the calling task runs, or otherwise that of the process; nil if
  /// neither is recording.
  public static var current: Trace? {
    if let scope, scope.isRunning { return scope }
    return RunningTraces.ofProcess
  }

  /// Stops recording.
  ///
  /// Its reports remain available.
  public func stop() {
    RunningTraces.remove(self, close())
  }

  /// Whether the trace is recording.
  public var isRunning: Bool { RunningTraces.contains(self) }

  /// The number of records of promises, and of consumers that aren't promises.
  public var count: Int { log.withLock { $0.records.count } }

  /// The promises that the trace has discarded because its limit was reached.
  public var forgotten: Forgotten { log.withLock { $0.forgotten } }

  /// Ends the recording; later events are ignored.
  ///
  /// - Returns: The promises and threads whose events the trace received.
  @discardableResult
  private func close() -> Interests {
    log.withLock { log in
      log.isOpen = false
      return isScoped ? log.interests : Interests()
    }
  }

  /// Records an event if it concerns this trace.
  ///
  /// - Returns: Whether it concerns this trace.
  func record(
    _ event: PromiseDiagnostics.TraceEvent, on thread: ThreadKey, isInScope: Bool
  ) -> Bool {
    if isScoped {
      guard log.withLock({ $0.concerns(event, on: thread, isInScope: isInScope) }) else {
        return false
      }
    }
    let callStack = captureCallStack(for: event, on: thread)
    let forgotten: [Record] = log.withLock { log in
      guard log.isOpen else { return [] }
      // The time is read under the lock, so events are recorded in the order of their times.
      let forgotten = log.apply(event, at: time(), on: thread, callStack: callStack)
      if isScoped { updateInterests(in: log, event.promises + forgotten.map(\.id), thread) }
      return forgotten
    }
    withExtendedLifetime(forgotten) {}
    return true
  }

  /// Updates whether this trace receives the events of these promises and of this thread.
  ///
  /// It's called under the log's lock, so that updates are applied in the order of the changes.
  private func updateInterests(
    in log: Log, _ promises: [PromiseDiagnostics.PromiseID], _ thread: ThreadKey
  ) {
    var wanted = Interests()
    var unwanted = Interests()
    for promise in promises {
      if log.contains(promise) {
        wanted.promises.append(promise)
      } else {
        unwanted.promises.append(promise)
      }
    }
    if log.isInterested(in: thread) {
      wanted.threads = [thread]
    } else {
      unwanted.threads = [thread]
    }
    RunningTraces.update(self, wanted: wanted, unwanted: unwanted)
  }

  func record(name: String, of promise: PromiseDiagnostics.PromiseID) {
    let isInScope = !isScoped || Self.scope === self
    let forgotten: [Record] = log.withLock { log in
      guard log.isOpen, isInScope || log.contains(promise) else { return [] }
      let forgotten = log.name(promise, name, at: time(), on: .current)
      if isScoped { updateInterests(in: log, [promise] + forgotten.map(\.id), .current) }
      return forgotten
    }
    withExtendedLifetime(forgotten) {}
  }

  /// Keeps an unhandled rejection that belongs to this trace.
  ///
  /// - Returns: Whether it was kept; false if the trace has been stopped.
  func keep(_ rejection: PromiseDiagnostics.UnhandledRejection) -> Bool {
    log.withLock { log in
      if log.isOpen { log.unhandled.append(rejection) }
      return log.isOpen
    }
  }

  private func captureCallStack(
    for event: PromiseDiagnostics.TraceEvent, on thread: ThreadKey
  ) -> CallStack? {
    guard let callStacks else { return nil }
    switch event.kind {
    case .created(let origin?) where !SourceLocation.isInLibrary(fileID: origin.fileID): return nil
    case .created, .attached: return callStacks.capture()
    case .settled:
      // A promise that its own handler settles needs no second location.
      let isOwn = log.withLock { $0.isHandled(event.promise, on: thread) }
      return isOwn ? nil : callStacks.capture()
    default: return nil
    }
  }

  /// Calls `body` with the log, under the lock; `body` must not run user code.
  func withLog<Result: Sendable>(_ body: (Log) -> Result) -> Result { log.withLock { body($0) } }

  /// Returns a copy of everything recorded so far.
  func snapshot() -> Snapshot {
    let (log, now) = log.withLock { ($0, time()) }
    return Snapshot(log: log, now: now)
  }
}

/// The number of promises that a trace has discarded because its limit was reached.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
public struct Forgotten: Sendable, Hashable {
  /// The number of discarded promises that had settled.
  public internal(set) var settled = 0
  /// The number of discarded promises that were pending.
  public internal(set) var pending = 0

  /// A sentence with the numbers; nil if nothing was discarded.
  var sentence: String? {
    if settled + pending == 0 { return nil }
    return
      "The limit was reached: \(settled) settled and \(pending) pending promises were discarded."
  }
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
private func stopwatch<C: Clock>(_ clock: C) -> @Sendable () -> Duration
where C.Duration == Duration {
  let start = clock.now
  return { start.duration(to: clock.now) }
}
