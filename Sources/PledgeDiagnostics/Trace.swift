import Foundation
@_spi(DropIns) import Pledge

/// A recording of what happens to promises, and the reports about it.
///
/// ```swift
/// let trace = Trace.start()
/// // … until the program hangs …
/// print(trace.pendingTree())
/// ```
///
/// ``start(limit:capturesPlaces:samplingInterval:)`` records all promises of the process; only one such trace
/// can be recording at a time. ``recording(limit:capturesPlaces:isolation:_:)`` records what
/// one closure does; any number of these can be recording. While no trace is recording, a promise only
/// checks a flag.
public final class Trace: @unchecked Sendable {
  /// The number of promises that a trace keeps by default.
  static let defaultLimit = 50_000

  private static let traceCount = Atomic<Int>(0)

  /// Guarded by the recorder's lock.
  @exclusivity(unchecked) var log: Log
  /// The number among the traces of the process.
  let number: UInt32
  private let start = SystemClock.now
  let limit: Int?
  let capturesPlaces: Bool
  /// The number of roots of which the trace records one.
  let sampling: UInt32
  /// Whether it records only what its body does.
  let isScoped: Bool
  /// Whether it stores the unhandled rejections that belong to it, so that they aren't reported.
  let claimsRejections: Bool

  /// The trace of the closure that the task runs, or in which the task was created.
  @TaskLocal static var scope: Trace?

  init(
    limit: Int?, capturesPlaces: Bool, isScoped: Bool, claimsRejections: Bool = false,
    sampling: Int = 1
  ) {
    self.limit = limit.map { max($0, 1) }
    self.capturesPlaces = capturesPlaces
    self.sampling = UInt32(clamping: max(sampling, 1))
    self.isScoped = isScoped
    self.claimsRejections = claimsRejections
    number = UInt32(truncatingIfNeeded: Self.traceCount.wrappingAdd(1, ordering: .relaxed) + 1)
    log = Log(limit: self.limit, capturesPlaces: capturesPlaces, start: start)
  }

  /// Starts recording everything that happens to promises in the process.
  ///
  /// If another such trace is recording, it is stopped.
  ///
  /// - Parameters:
  ///   - limit: The maximum number of promises in the record; values below one count as one, and
  ///     nil is no limit. Beyond the limit, the trace discards the promises that settled first, and
  ///     then the oldest; ``forgotten`` and every report state how many. A promise takes 150 to
  ///     200 bytes.
  ///   - capturesPlaces: Whether to find the source locations of operators. Promises with a resolver
  ///     have a source location in any case. On Apple platforms, operators have none.
  ///   - samplingInterval: The number of chains of which one is recorded; values below one count as
  ///     one. A chain that is recorded is recorded entirely, with the promises that its handlers
  ///     create. Each handler that is attached to `Promise.value` begins a chain. Use this in production, where a sample is enough. At most 16,384 promises are in
  ///     the sample at a time.
  @discardableResult
  public static func start(
    limit: Int? = 50_000, capturesPlaces: Bool = true, samplingInterval: Int = 1
  ) -> Trace {
    let trace = Trace(
      limit: limit, capturesPlaces: capturesPlaces, isScoped: false, sampling: samplingInterval)
    Recorder.add(trace)
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
  /// For the parameters, see ``start(limit:capturesPlaces:samplingInterval:)``. Rethrows the errors of `body`.
  public static func recording<Result>(
    limit: Int? = 50_000, capturesPlaces: Bool = true,
    isolation: isolated (any Actor)? = #isolation, _ body: (Trace) async throws -> Result
  ) async rethrows -> Result {
    try await recording(
      limit: limit, capturesPlaces: capturesPlaces, claimsRejections: false, body)
  }

  /// The same; `claimsRejections` keeps the unhandled rejections of its promises for ``leftovers()``
  /// instead of reporting them.
  package static func recording<Result>(
    limit: Int? = 50_000, capturesPlaces: Bool = true, claimsRejections: Bool,
    isolation: isolated (any Actor)? = #isolation, _ body: (Trace) async throws -> Result
  ) async rethrows -> Result {
    let trace = Trace(
      limit: limit, capturesPlaces: capturesPlaces, isScoped: true,
      claimsRejections: claimsRejections)
    Recorder.add(trace)
    defer { trace.stop() }
    return try await $scope.withValue(trace) { try await body(trace) }
  }

  /// The trace of the closure that the calling task runs, or otherwise that of the process; nil if
  /// neither is recording.
  public static var current: Trace? {
    if let scope, scope.isRunning { return scope }
    return Recorder.ofProcess
  }

  /// Stops recording; its reports remain available.
  public func stop() { Recorder.remove(self) }

  /// Whether the trace is recording.
  public var isRunning: Bool { Recorder.contains(self) }

  /// The number of records of promises, and of consumers that aren't promises.
  public var count: Int { withLog { $0.records.count } }

  /// The number of promises that the trace has discarded because its limit was reached.
  public var forgotten: Int { withLog { $0.forgottenSettled + $0.forgottenPending } }

  /// Calls `body` with the log of all events up to now, as ``Recorder/withLogs(_:)`` does.
  func withLog<Result: Sendable>(_ body: (Log) -> Result) -> Result {
    Recorder.withLogs { body(log) }
  }

  /// Returns a copy of everything recorded so far.
  func snapshot() -> Snapshot {
    Snapshot(log: withLog { $0 }, now: SystemClock.now - start)
  }
}
