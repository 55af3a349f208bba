import Pledge

/// Follows errors through the promises of a snapshot.
struct ErrorTracer {
  let snapshot: Snapshot
  /// The records attached to a promise, and the promise that adopted it, by its number.
  private var consumers: [Int: [Int]] = [:]
  /// The observers through which a promise observes its inputs, by its number.
  private var inputs: [Int: [Int]] = [:]

  init(_ snapshot: Snapshot) {
    self.snapshot = snapshot
    for record in snapshot.ordered {
      if let source = record.source { consumers[source, default: []].append(record.number) }
      if let inner = record.adopted { consumers[inner, default: []].append(record.number) }
      if record.isInput, let result = record.result {
        inputs[result, default: []].append(record.number)
      }
    }
  }

  private func record(_ number: Int?) -> Record? { number.flatMap { snapshot.records[$0] } }

  /// Returns the promise whose error this one passed on; nil if its error began here.
  func origin(of record: Record) -> Record? {
    guard let rejection = record.settlement?.rejection else { return nil }
    let candidates =
      [record.adopted, record.source]
      + (inputs[record.number] ?? []).map { self.record($0)?.source }
    return candidates.lazy.compactMap { self.record($0) }
      .first { $0.settlement?.rejection == rejection }
  }

  func path(through record: Record) -> ErrorPath? {
    guard let rejection = record.settlement?.rejection, let error = snapshot.error(of: record)
    else { return nil }
    // An error comes from a promise that settled no later. The set guards against cycles, which can
    // arise because identifiers are reused.
    var start = record
    var seen: Set<Int> = [start.number]
    while let origin = origin(of: start), seen.insert(origin.number).inserted { start = origin }

    var steps: [Trace.Line] = []
    var visited: Set<Int> = []
    var rest = [(number: start.number, from: Int?.none, depth: 0)]
    while let (number, from, depth) = rest.popLast() {
      guard let record = self.record(number), visited.insert(number).inserted else { continue }
      let words = from.map { self.words(for: record, from: $0, rejection) } ?? beginning(of: record)
      steps.append(snapshot.line(record, words, depth: depth))
      guard record.settlement?.rejection == rejection else { continue }
      let next = next(after: number)
      if next.isEmpty {
        if !(error is CancellationError) {
          let words = "no consumer of #\(number) was recorded"
          steps.append(snapshot.line(record, description: words, depth: depth))
        }
        continue
      }
      for consumer in next.reversed() {
        rest.append((consumer, number, depth + (next.count > 1 ? 1 : 0)))
      }
    }
    return ErrorPath(error: error, steps: steps, forgotten: snapshot.log.forgotten)
  }

  /// Returns the records that received a promise's result next; a combinator's observer is replaced by
  /// the combinator's promise.
  private func next(after number: Int) -> [Int] {
    (consumers[number] ?? []).compactMap { consumer in
      guard let record = record(consumer) else { return nil }
      return record.isInput ? record.result : consumer
    }
  }

  func lastUnhandledPath() -> ErrorPath? {
    let left = snapshot.ordered.filter { record in
      guard let error = snapshot.error(of: record) else { return false }
      return !(error is CancellationError) && next(after: record.number).isEmpty
    }
    return left.max { ($0.endTime, $0.number) < ($1.endTime, $1.number) }
      .flatMap { path(through: $0) }
  }
}

// MARK: - Words

extension ErrorTracer {
  /// Returns how the error reached its first promise.
  private func beginning(of record: Record) -> String {
    let error = snapshot.error(of: record)
    if error is CancellationError, snapshot.log.cancellations[record.number] != nil {
      return ": cancelled"
    }
    switch record.kind {
    case .resolver:
      let location = record.settlement.flatMap { snapshot.location(of: $0.callStack) }
      let handler = record.settlement?.moment.inside
      return ": rejected" + (location.map { " at \($0)" } ?? "")
        + (handler.map { ", in the handler of #\($0)" } ?? "")
    case .handler where record.calledClosure && record.adopted == nil,
      .combinator where error is AggregateError:
      return ": thrown by its handler\(threadName(of: record))"
    default:
      return error is CancellationError ? ": cancelled" : ": rejected at an unknown location"
    }
  }

  /// Returns what happened to the error at a promise that received it from `source`.
  private func words(for record: Record, from source: Int, _ rejection: Int) -> String {
    let thread = threadName(of: record)
    switch record.kind {
    case .wait: return ": delivered to \(snapshot.threadName(record.made.thread))"
    case .observer: return ": delivered to a task"
    default: break
    }
    guard let settlement = record.settlement else {
      return record.isPending ? ": pending" : ": delivered to an observer\(thread)"
    }
    guard let other = settlement.rejection else { return ": handled by its handler\(thread)" }
    if other != rejection {
      let error = snapshot.error(of: record).map { "\($0)" } ?? "another error"
      return ": handled\(thread), and replaced by \(error)"
    }
    if record.adopted == source { return ": rejected like the promise that its handler returned" }
    if record.source != source { return ": rejected like its input" }
    return record.calledClosure ? ": seen by its handler\(thread), and passed on" : ": passed on"
  }

  private func threadName(of record: Record) -> String {
    record.run.map { " on \(snapshot.threadName($0.thread))" } ?? ""
  }
}
