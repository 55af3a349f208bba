import Pledge

/// The path of an error: from where it was thrown, through the promises that passed it on.
///
/// The description of a path has one line for each step, which says what happened to the error.
public struct ErrorPath: Sendable, CustomStringConvertible {
  /// The error.
  public let error: any Error
  /// The steps, beginning with the error's origin.
  public let steps: [Trace.Line]
  let notice: String?

  /// The path as text, one line per step.
  public var description: String {
    (["Error: \(error)"] + steps.map { "  \($0.description)" }
      + [notice].compactMap(\.self))
      .joined(separator: "\n")
  }
}

extension Trace {
  /// Returns the path of the error to `promise`, which it rejected; nil if the promise wasn't rejected
  /// or isn't in the record.
  ///
  /// - Complexity: O(n log n) for n promises in the record.
  public func errorPath(of promise: Promise<some Any>) -> ErrorPath? {
    let snapshot = snapshot()
    // The latest, because identifiers are reused.
    return snapshot.ordered.last { $0.id == promise.id }.flatMap(snapshot.errorPath(to:))
  }

  /// Returns the path of the unhandled error that is being reported; nil if it isn't in the record.
  ///
  /// Call it in the handler passed to `PromiseDiagnostics.setUnhandledRejectionHandler(_:)`. Elsewhere,
  /// it returns the path of the error in the record that was reported last.
  ///
  /// - Complexity: O(n log n) for n promises in the record.
  public func lastUnhandledErrorPath() -> ErrorPath? {
    let snapshot = snapshot()
    let failure =
      if let reported = PromiseDiagnostics.reported {
        snapshot.log.number(ofRejection: reported.id, with: reported.error)
      } else {
        snapshot.log.lastReported
      }
    return failure.flatMap(snapshot.errorPath(of:))
  }
}

/// Follows errors back through the promises.
extension Snapshot {
  /// Returns the promise whose error this one passed on; nil if its error began here.
  func errorOrigin(of record: Record) -> Record? {
    guard let rejection = record.settlement?.rejection else { return nil }
    let candidates = [record.adopted, record.source] + (inputs[record.number] ?? [])
    return candidates.lazy.compactMap { $0.flatMap { records[$0] } }
      .first { $0.settlement?.rejection == rejection }
  }

  func errorPath(to record: Record) -> ErrorPath? {
    guard let error = error(of: record) else { return nil }
    // An error comes from a promise that settled no later. The set guards against cycles, which can
    // arise because identifiers are reused.
    var path = [record]
    var seen: Set<Int> = [record.number]
    while let origin = errorOrigin(of: path[path.count - 1]), seen.insert(origin.number).inserted {
      path.append(origin)
    }
    path.reverse()
    let words = [errorBeginning(of: path[0])] + zip(path.dropFirst(), path).map(errorWords)
    return ErrorPath(
      error: error, steps: zip(path, words).map { line($0, $1) },
      notice: log.notice)
  }

  /// Returns the path to the promise that was rejected last with a rejection of the log.
  func errorPath(of failure: Int) -> ErrorPath? {
    ordered.filter { $0.settlement?.rejection == failure }
      .max { ($0.endTime, $0.number) < ($1.endTime, $1.number) }.flatMap(errorPath(to:))
  }

  private func errorBeginning(of record: Record) -> String {
    let rejection = rejection(of: record)
    let error = rejection?.error
    // Of an error that a drop-in module marks as a cancellation, the rest says more.
    if error is CancellationError,
      rejection?.isCancellation == true || log.cancellations[record.number] != nil
    {
      return ": cancelled"
    }
    switch record.kind {
    case .resolver:
      let location = record.settlement.flatMap { self.location(of: $0.callStack) }
      let handler = record.settlement?.moment.inside
      return ": rejected" + (location.map { " at \($0)" } ?? "")
        + (handler.map { ", in the handler of #\($0)" } ?? "")
    case .handler where record.calledClosure && record.adopted == nil:
      return ": rejected by its handler\(runThread(of: record))"
    default: break
    }
    switch error {
    case is CancellationError: return ": cancelled"
    case is AggregateError: return ": rejected because all its inputs were"
    case is TimeoutError: return ": rejected because its time limit had passed"
    case let error as BrokenPromiseError where error.reason == .executorDroppedJob:
      return ": rejected because its executor dropped its handler"
    default: return ": rejected at an unknown location"
    }
  }

  /// Returns what happened to the error at a promise that received it from `source`.
  private func errorWords(for record: Record, from source: Record) -> String {
    if record.adopted == source.number {
      return ": rejected like the promise that its handler returned"
    }
    if record.source != source.number { return ": rejected like its input" }
    return record.calledClosure
      ? ": seen by its handler\(runThread(of: record)), and passed on" : ": passed on"
  }

  private func runThread(of record: Record) -> String {
    record.run == nil ? "" : " on \(threadName(of: record))"
  }
}
