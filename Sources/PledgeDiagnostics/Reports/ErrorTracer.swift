import Pledge

/// Follows errors through the promises of a snapshot.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
struct ErrorTracer {
  typealias Event = ErrorPath.Step.Event

  private let snapshot: Snapshot
  /// The records attached to a promise, and the promise that adopted it, by its number.
  private var consumers: [Int: [Int]] = [:]
  /// The observers through which a promise observes its inputs, by its number.
  private var inputs: [Int: [Int]] = [:]

  /// Creates a tracer; nil if the snapshot is empty.
  init?(_ snapshot: Snapshot) {
    guard !snapshot.ordered.isEmpty else { return nil }
    self.snapshot = snapshot
    for record in snapshot.ordered {
      if let source = record.source { consumers[source, default: []].append(record.number) }
      if let inner = record.adopted { consumers[inner, default: []].append(record.number) }
      if record.kind == .observer, let result = record.result {
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

    var steps: [ErrorPath.Step] = []
    var visited: Set<Int> = []
    var rest = [(number: start.number, from: Int?.none, depth: 0)]
    while let (number, from, depth) = rest.popLast() {
      guard let record = self.record(number), visited.insert(number).inserted else { continue }
      let event = from.map { self.event(at: record, from: $0, rejection) } ?? beginning(of: record)
      steps.append(step(record, event, depth))
      guard record.settlement?.rejection == rejection else { continue }
      let next = next(after: number)
      if next.isEmpty {
        if !(error is CancellationError) { steps.append(step(record, .unhandled, depth)) }
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
      if record.kind == .observer, let result = record.result { return result }
      return consumer
    }
  }

  func lastUnhandledPath() -> ErrorPath? {
    let left = snapshot.ordered.filter { record in
      guard let error = snapshot.error(of: record) else { return false }
      return !(error is CancellationError) && next(after: record.number).isEmpty
    }
    return left.max { ($0.ended ?? 0, $0.number) < ($1.ended ?? 0, $1.number) }
      .flatMap { path(through: $0) }
  }
}

// MARK: - Steps

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension ErrorTracer {
  private func beginning(of record: Record) -> Event {
    let error = snapshot.error(of: record)
    if error is CancellationError, snapshot.log.cancellations[record.number] != nil {
      return .cancelled
    }
    switch record.kind {
    case .resolver: return .rejected
    case .handler where record.calledClosure && record.adopted == nil: return .thrown
    case .combinator where error is AggregateError: return .thrown
    default: return error is CancellationError ? .cancelled : .appeared
    }
  }

  private func event(
    at record: Record, from source: Int, _ rejection: Int
  ) -> Event {
    if record.kind == .wait || record.kind == .observer { return .delivered }
    guard let settlement = record.settlement else {
      return record.ended == nil ? .pending : .delivered
    }
    guard let other = settlement.rejection else { return .handled }
    if other != rejection {
      return .replaced(by: snapshot.error(of: record).map { "\($0)" } ?? "another error")
    }
    if record.adopted == source { return .adopted }
    if record.source != source { return .combined }
    return !record.calledClosure ? .passed : .seen
  }

  private func step(_ record: Record, _ event: Event, _ depth: Int) -> ErrorPath.Step {
    let isEnd = event == .unhandled
    let time = isEnd ? record.ended : record.settlement?.moment.time
    return ErrorPath.Step(
      number: record.number, promise: record.id, operation: snapshot.operation(of: record),
      name: snapshot.log.names[record.number], location: snapshot.location(of: record),
      event: event, depth: depth, time: time.map { .nanoseconds($0) },
      description: isEnd
        ? "no consumer of #\(record.number) was recorded"
        : snapshot.title(of: record) + words(for: event, record))
  }

  private func words(for event: Event, _ record: Record) -> String {
    let thread = record.run.map { " on \(snapshot.threadName($0.thread))" } ?? ""
    switch event {
    case .rejected:
      let settlement = record.settlement
      let location =
        settlement.flatMap { snapshot.location(of: $0.callStack) }.map { " at \($0)" } ?? ""
      let handler = settlement?.moment.inside.map { ", in the handler of #\($0)" } ?? ""
      return ": rejected\(location)\(handler)"
    case .thrown: return ": thrown by its handler\(thread)"
    case .cancelled: return ": cancelled"
    case .appeared: return ": rejected at an unknown location"
    case .passed: return ": passed on"
    case .seen: return ": seen by its handler\(thread), and passed on"
    case .adopted: return ": rejected like the promise that its handler returned"
    case .combined: return ": rejected like its input"
    case .handled: return ": handled by its handler\(thread)"
    case .replaced(let error): return ": handled\(thread), and replaced by \(error)"
    case .pending: return ": pending"
    case .delivered where record.kind == .wait:
      return ": delivered to \(snapshot.threadName(record.made.thread))"
    case .delivered where record.kind == .observer: return ": delivered to a task"
    case .delivered: return ": delivered to an observer\(thread)"
    case .unhandled: return ": unhandled"
    }
  }
}
