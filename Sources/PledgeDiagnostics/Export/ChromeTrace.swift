import Foundation
import Pledge

/// A trace in the trace-event format.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
private struct ChromeTrace: Encodable {
  struct Event: Encodable {
    let name: String
    let cat: String
    /// The kind: `X` is a slice, `s` and `f` are the ends of an arrow, `i` an instant, `M` tells of
    /// the thread.
    let ph: String
    /// In microseconds.
    let ts: Double
    var dur: Double?
    let pid = 1
    let tid: Int
    /// Which ends belong to one arrow.
    var id: Int?
    /// `e`: the arrow ends at the slice that surrounds its end.
    var bp: String?
    /// `t`: the instant concerns its thread.
    var s: String?
    var args: [String: String]?
  }

  let traceEvents: [Event]
  let displayTimeUnit = "ms"
  let otherData: [String: String]
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension Snapshot {
  /// Threads as tracks, handlers as slices, and arrows from settlements to handlers.
  func chromeTrace() throws -> Data {
    let ordered = records.values.sorted { $0.number < $1.number }
    let settlements = SettlementSlices(snapshot: self, records: ordered)
    var events = threadEvents()
    for record in ordered {
      for run in record.runs { events.append(slice(run, record)) }
      if let settlement = settlements.slice(record) { events.append(settlement) }
      if let cancelled = record.cancelled {
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

  private func slice(_ run: Run, _ record: Record) -> ChromeTrace.Event {
    let isWait = record.kind == .wait
    var facts = ["promise": "#\(record.number)"]
    facts["place"] = location(of: record)?.description
    facts["executor"] = record.executor?.name
    if !isWait { facts["queued"] = (run.start - readyTime(of: record)).brief }
    facts["error"] = record.settlement?.rejection.map { "\($0.error)" }
    if run.end == nil { facts["end"] = "still running" }
    let passesBy = !isWait && record.kind == .handler && !run.callsClosure
    return ChromeTrace.Event(
      name: label(of: record) + (passesBy ? " (passed by)" : ""), cat: isWait ? "wait" : "handler",
      ph: "X", ts: run.start.microseconds, dur: ((run.end ?? now) - run.start).microseconds,
      tid: run.thread, args: facts)
  }

  /// The arrow from the settlement that set the record's handler going.
  private func arrow(to record: Record) -> [ChromeTrace.Event] {
    guard record.kind != .wait, let run = record.runs.first, !record.isSourceSettled,
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

/// Slices for settlements outside handlers, so that arrows have something to begin at.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
private struct SettlementSlices {
  private let snapshot: Snapshot
  /// When something begins on a thread, in order, by the thread's number.
  private var beginnings: [Int: [Duration]] = [:]

  init(snapshot: Snapshot, records: [Record]) {
    self.snapshot = snapshot
    for record in records {
      for run in record.runs { beginnings[run.thread, default: []].append(run.start) }
      if let moment = record.settlement?.moment {
        beginnings[moment.thread, default: []].append(moment.time)
      }
    }
    for thread in beginnings.keys { beginnings[thread]?.sort() }
  }

  /// At most a microsecond long, and over before the next slice of its thread begins.
  func slice(_ record: Record) -> ChromeTrace.Event? {
    guard let settlement = record.settlement, settlement.moment.inside == nil,
      record.linkedTo == nil
    else { return nil }
    let moment = settlement.moment
    let next =
      firstBeginning(after: moment.time, on: moment.thread)
      ?? moment.time + .microseconds(1)
    var facts = ["promise": "#\(record.number)"]
    facts["made at"] = snapshot.location(of: record)?.description
    facts["settled at"] = settlement.callStack.flatMap(snapshot.locations.location)?.description
    facts["error"] = settlement.rejection.map { "\($0.error)" }
    let verb = settlement.rejection == nil ? "fulfill" : "reject"
    return ChromeTrace.Event(
      name: "\(verb) #\(record.number)", cat: "settlement", ph: "X",
      ts: moment.time.microseconds, dur: min(next - moment.time, .microseconds(1)).microseconds,
      tid: moment.thread, args: facts)
  }

  private func firstBeginning(after time: Duration, on thread: Int) -> Duration? {
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

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension Duration {
  /// In microseconds, to the nanosecond.
  var microseconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) * 1e6 + (Double(attoseconds) / 1e9).rounded() / 1e3
  }
}
