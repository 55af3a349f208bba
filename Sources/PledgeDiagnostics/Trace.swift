import Foundation
import Pledge

/// A record of what happens to promises while it is on, and the reports that come of it.
///
/// ```swift
/// let trace = Trace.start()
/// // … until the program hangs …
/// print(trace.pendingTree())
/// ```
///
/// One trace is on at a time. While none is, tracing costs a promise nothing but the look at a flag.
public final class Trace: Sendable {
  private let log: Mutex<Log>
  private let time: @Sendable () -> Duration
  private let callStacks: CallStackReader?

  private static let running = Mutex<Trace?>(nil)

  private init(limit: Int?, capturesPlaces: Bool, time: @escaping @Sendable () -> Duration) {
    log = Mutex(Log(limit: limit))
    self.time = time
    callStacks = capturesPlaces ? CallStackReader() : nil
  }

  /// Starts to record all that happens to promises; a trace that is on is stopped.
  ///
  /// - Parameters:
  ///   - limit: How many promises are kept in the record, at least one; nil for all. Beyond it the
  ///     promises that settled first are forgotten first, then the oldest; ``forgotten`` and every
  ///     report tell how many.
  ///   - capturesPlaces: Whether to find out where in the source operators are called, which takes
  ///     some 15 µs a promise. Promises with a resolver know their place in any case. On Apple
  ///     platforms places of operators are left out.
  ///   - clock: What tells the time.
  @discardableResult
  public static func start(
    limit: Int? = nil, capturesPlaces: Bool = true, clock: any Clock<Duration> = ContinuousClock()
  ) -> Trace {
    precondition(limit.map { $0 >= 1 } ?? true, "A trace keeps at least one promise.")
    let trace = Trace(limit: limit, capturesPlaces: capturesPlaces, time: stopwatch(clock))
    let old = running.withLock { running in
      running?.log.withLock { $0.isOpen = false }
      Diagnostics.setTracer { trace.record($0) }
      return exchange(&running, with: trace)
    }
    // What it holds of the program's goes outside the lock.
    withExtendedLifetime(old) {}
    return trace
  }

  /// The trace that is on, if one is.
  public static var current: Trace? { running.withLock { $0 } }

  /// Ends the recording; the reports still tell what was recorded.
  public func stop() {
    Self.running.withLock { running in
      guard running === self else { return }
      Diagnostics.setTracer(nil)
      running = nil
    }
    log.withLock { $0.isOpen = false }
  }

  /// Whether the trace is on.
  public var isRunning: Bool { Self.current === self }

  /// How many promises, and observers that make none, are in the record.
  public var count: Int { log.withLock { $0.records.count } }

  /// What the record no longer tells, since its limit was reached.
  public var forgotten: Forgotten { log.withLock { $0.forgotten } }

  private func record(_ event: Diagnostics.TraceEvent) {
    let thread = ThreadKey.current
    let callStack = captureCallStack(for: event, on: thread)
    let forgotten: [Record] = log.withLock { log in
      guard log.isOpen else { return [] }
      // Asked under the lock, so that the events are recorded in the order of their times.
      return log.apply(event, at: time(), on: thread, callStack: callStack)
    }
    withExtendedLifetime(forgotten) {}
  }

  private func captureCallStack(
    for event: Diagnostics.TraceEvent, on thread: ThreadKey
  ) -> CallStack? {
    guard let callStacks else { return nil }
    switch event.kind {
    case .created(let origin?) where !Place.isInLibrary(fileID: origin.fileID): return nil
    case .created, .attached: return callStacks.capture()
    case .settled:
      // What its own handler settles needs no other place.
      let isOwn = log.withLock { $0.isHandled(event.promise, on: thread) }
      return isOwn ? nil : callStacks.capture()
    default: return nil
    }
  }

  /// All that was recorded up to now.
  func snapshot() -> Snapshot {
    let (log, now) = log.withLock { ($0, time()) }
    return Snapshot(log: log, now: now)
  }
}

/// Promises that a trace with a limit had to forget.
public struct Forgotten: Sendable, Hashable {
  /// How many that had settled.
  public internal(set) var settled = 0
  /// How many that had not.
  public internal(set) var pending = 0

  /// Says so in words; nil if nothing was forgotten.
  var sentence: String? {
    if settled + pending == 0 { return nil }
    return
      "The limit was reached: \(settled) settled and \(pending) pending promises are forgotten."
  }
}

private func stopwatch<C: Clock>(_ clock: C) -> @Sendable () -> Duration
where C.Duration == Duration {
  let start = clock.now
  return { start.duration(to: clock.now) }
}
