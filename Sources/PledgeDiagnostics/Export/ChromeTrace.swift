import Foundation
import Pledge

/// A trace in the trace-event format.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
private struct ChromeTrace: Encodable {
  struct Event: Encodable {
    let name: String
    let cat: String
    /// The kind: `X` is a slice, `s` and `f` are the ends of an arrow, `i` is an instant, and `M` is
    /// the name of a thread.
    let ph: String
    /// The time in microseconds.
    let ts: Double
    var dur: Double?
    let pid = 1
    let tid: Int
    /// The number of the arrow to which an end belongs.
    var id: Int?
    /// `e` if the arrow ends at the slice that encloses its end.
    var bp: String?
    /// `t` if the instant concerns its thread.
    var s: String?
    var args: [String: String]?
  }

  let traceEvents: [Event]
  let displayTimeUnit = "ms"
  let otherData: [String: String]
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension Snapshot {
  /// Returns threads as tracks, handlers as slices, and arrows from settlements to handlers.
  func chromeTrace() throws -> Data {
    let settlements = SettlementSlices(snapshot: self, records: ordered)
    var events = threadEvents()
    for record in ordered {
      if let run = record.run { events.append(slice(run, record)) }
      if let settlement = settlements.slice(record) { events.append(settlement) }
      if let cancelled = log.cancellations[record.number] {
        events.append(
          ChromeTrace.Event(
            name: "cancel #\(record.number)", cat: "cancellation", ph: "i",
            ts: cancelled.time.microseconds, tid: cancelled.thread, s: "t"))
      }
      events += arrow(to: record)
    }
    let pending = pendingTree().nodes.filter { !$0.isRepeated }.count
    var facts = ["recorded": "\(records.count)", "pending": "\(pending)"]
    facts["forgotten"] = log.forgotten.sentence
    return try JSONEncoder().encode(ChromeTrace(traceEvents: events, otherData: facts))
  }

  private func threadEvents() -> [ChromeTrace.Event] {
    log.threads.values.sorted { $0.number < $1.number }.map { thread in
      ChromeTrace.Event(
        name: "thread_name", cat: "__metadata", ph: "M", ts: 0, tid: thread.number,
        args: ["name": threadName(thread.number)])
    }
  }

  private func slice(_ run: Record.Run, _ record: Record) -> ChromeTrace.Event {
    let isWait = record.kind == .wait
    var facts = ["promise": "#\(record.number)"]
    facts["place"] = location(of: record)?.description
    facts["executor"] = record.executor?.name
    if !isWait { facts["queued"] = Duration.nanoseconds(run.start - readyTime(of: record)).brief }
    facts["error"] = error(of: record).map { "\($0)" }
    if run.isRunning { facts["end"] = "still running" }
    let isSkipped = !isWait && record.kind == .handler && !run.callsClosure
    return ChromeTrace.Event(
      name: label(of: record) + (isSkipped ? " (skipped)" : ""), cat: isWait ? "wait" : "handler",
      ph: "X", ts: run.start.microseconds, dur: ((record.runEnd ?? now) - run.start).microseconds,
      tid: run.thread, args: facts)
  }

  /// Returns the arrow from the settlement that triggered the record's handler.
  private func arrow(to record: Record) -> [ChromeTrace.Event] {
    guard record.kind != .wait, let run = record.run, !record.isSourceSettled,
      let settlement = record.source.flatMap({ records[$0]?.settlement }),
      settlement.moment.time <= run.start
    else { return [] }
    return [
      ChromeTrace.Event(
        name: "settled", cat: "flow", ph: "s", ts: settlement.moment.time.microseconds,
        tid: settlement.moment.thread, id: record.number),
      ChromeTrace.Event(
        name: "settled", cat: "flow", ph: "f", ts: run.start.microseconds, tid: run.thread,
        id: record.number, bp: "e"),
    ]
  }
}

/// Slices for settlements outside handlers, because an arrow has to start at a slice.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
private struct SettlementSlices {
  private let snapshot: Snapshot
  /// The times at which slices begin on a thread, in order, by the thread's number.
  private var beginnings: [Int: [Int64]] = [:]

  init(snapshot: Snapshot, records: [Record]) {
    self.snapshot = snapshot
    for record in records {
      if let run = record.run { beginnings[run.thread, default: []].append(run.start) }
      if let moment = record.settlement?.moment {
        beginnings[moment.thread, default: []].append(moment.time)
      }
    }
    for thread in beginnings.keys { beginnings[thread]?.sort() }
  }

  /// Returns a slice of at most a microsecond that ends before the next slice on its thread begins.
  func slice(_ record: Record) -> ChromeTrace.Event? {
    guard let settlement = record.settlement, settlement.moment.inside == nil,
      record.linkedTo == nil
    else { return nil }
    let moment = settlement.moment
    let next =
      firstBeginning(after: moment.time, on: moment.thread)
      ?? moment.time + 1000
    var facts = ["promise": "#\(record.number)"]
    facts["made at"] = snapshot.location(of: record)?.description
    facts["settled at"] = snapshot.location(of: settlement.callStack)?.description
    facts["error"] = snapshot.error(of: record).map { "\($0)" }
    let verb = settlement.rejection == nil ? "fulfill" : "reject"
    return ChromeTrace.Event(
      name: "\(verb) #\(record.number)", cat: "settlement", ph: "X",
      ts: moment.time.microseconds, dur: min(next - moment.time, 1000).microseconds,
      tid: moment.thread, args: facts)
  }

  private func firstBeginning(after time: Int64, on thread: Int) -> Int64? {
    guard let times = beginnings[thread] else { return nil }
    var low = 0
    var high = times.count
    while low < high {
      let middle = (low + high) / 2
      if times[middle] > time { high = middle } else { low = middle + 1 }
    }
    return low < times.count ? times[low] : nil
  }
}

extension Int64 {
  /// Nanoseconds in microseconds.
  var microseconds: Double { Double(self) / 1e3 }
}
