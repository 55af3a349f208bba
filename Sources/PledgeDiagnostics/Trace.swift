import Foundation
import Pledge

/// A record of what happens to promises while it is on, and the reports on it.
///
/// ```swift
/// let trace = Trace.start()
/// // … until the program hangs …
/// print(trace.pendingTree())
/// ```
///
/// ``start(limit:capturesPlaces:clock:)`` records all promises of the process, and one such trace is
/// on at a time. ``recording(limit:capturesPlaces:clock:_:)`` records what one closure does, and any
/// number of those can be on. While no trace is on, tracing costs a promise no more than the look at
/// a flag.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
public final class Trace: Sendable {
  private let log: Mutex<Log>
  private let time: @Sendable () -> Duration
  private let callStacks: CallStackReader?
  /// Whether it leaves out what its body has nothing to do with.
  private let isScoped: Bool
  /// Whether it keeps the unhandled rejections that belong to it, which then are not reported.
  let claimsRejections: Bool

  /// The trace of the closure that the task runs, or in which the task was made.
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

  /// Starts to record all that happens to promises in the process; a trace that was started so
  /// before is stopped.
  ///
  /// - Parameters:
  ///   - limit: The maximum number of promises in the record; less than one counts as one, nil is no
  ///     limit. Beyond it the promises that settled first are forgotten first, then the oldest;
  ///     ``forgotten`` and every report tell how many. One promise takes about a kilobyte.
  ///   - capturesPlaces: Whether to find out where in the source operators are called, which takes
  ///     some 5 µs a promise. Promises with a resolver know their location in any case. On Apple
  ///     platforms, locations of operators are left out.
  ///   - clock: What tells the time.
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

  /// Records what `body` does to promises, and what happens to the promises that it makes or
  /// observes, on any thread.
  ///
  /// What other parts of the program do with promises of their own is left out, so tests that use
  /// such traces can run side by side. The trace is passed to `body` and stopped when `body`
  /// returns; its reports can be read after that as well. A promise belongs to the trace if it is
  /// made in the task of `body`, in a task made by it, or in a handler of a promise that belongs to
  /// the trace; or if it is attached to such a promise.
  ///
  /// For the parameters see ``start(limit:capturesPlaces:clock:)``. Throws what `body` throws.
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

  /// Records what `body` does to promises, and what happens to the promises that it makes or
  /// observes, on any thread.
  ///
  /// The asynchronous form of ``recording(limit:capturesPlaces:clock:_:)``.
  public static func recording<Result>(
    limit: Int? = 50_000, capturesPlaces: Bool = true,
    clock: any Clock<Duration> = ContinuousClock(),
    isolation: isolated (any Actor)? = #isolation, _ body: (Trace) async throws -> Result
  ) async rethrows -> Result {
    let trace = Trace(
      limit: limit, capturesPlaces: capturesPlaces, isScoped: true, time: stopwatch(clock))
    return try await trace.record(body)
  }

  /// Records what `body` does to promises, and takes over the reports of the unhandled rejections of
  /// its promises: see ``leftovers()``.
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

  /// The trace that is on: that of the closure that the calling task runs, or else that of the
  /// process.
  public static var current: Trace? {
    if let scope, scope.isRunning { return scope }
    return RunningTraces.ofProcess
  }

  /// Stops recording.
  ///
  /// Reports about what was recorded remain available.
  public func stop() {
    RunningTraces.remove(self, close())
  }

  /// Whether the trace is on.
  public var isRunning: Bool { RunningTraces.contains(self) }

  /// How many promises, and observers that make none, are in the record.
  public var count: Int { log.withLock { $0.records.count } }

  /// What the record has discarded because its limit was reached.
  public var forgotten: Forgotten { log.withLock { $0.forgotten } }

  /// Takes no more events.
  ///
  /// - Returns: Of which promises and threads it wanted the events.
  @discardableResult
  private func close() -> Interests {
    log.withLock { log in
      log.isOpen = false
      return isScoped ? log.interests : Interests()
    }
  }

  /// Enters an event, if it concerns this trace.
  ///
  /// - Returns: Whether it does.
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
      // Asked under the lock, so that the events are recorded in the order of their times.
      let forgotten = log.apply(event, at: time(), on: thread, callStack: callStack)
      if isScoped { updateInterests(in: log, event.promises + forgotten.map(\.id), thread) }
      return forgotten
    }
    withExtendedLifetime(forgotten) {}
    return true
  }

  /// Says which events of these promises, and on this thread, this trace wants.
  ///
  /// Called under the log's lock, so that the last change is the last one there, too.
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
  /// - Returns: Whether the trace still does so.
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
      // What its own handler settles needs no other location.
      let isOwn = log.withLock { $0.isHandled(event.promise, on: thread) }
      return isOwn ? nil : callStacks.capture()
    default: return nil
    }
  }

  /// Looks at the record under the lock; `body` must not call code of the program.
  func withLog<Result: Sendable>(_ body: (Log) -> Result) -> Result { log.withLock { body($0) } }

  /// All that was recorded up to now.
  func snapshot() -> Snapshot {
    let (log, now) = log.withLock { ($0, time()) }
    return Snapshot(log: log, now: now)
  }
}

/// Promises that a trace with a limit had to forget.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
public struct Forgotten: Sendable, Hashable {
  /// How many that had settled.
  public internal(set) var settled = 0
  /// How many that had not.
  public internal(set) var pending = 0

  /// The numbers in words; nil if nothing was forgotten.
  var sentence: String? {
    if settled + pending == 0 { return nil }
    return
      "The limit was reached: \(settled) settled and \(pending) pending promises are forgotten."
  }
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
private func stopwatch<C: Clock>(_ clock: C) -> @Sendable () -> Duration
where C.Duration == Duration {
  let start = clock.now
  return { start.duration(to: clock.now) }
}
