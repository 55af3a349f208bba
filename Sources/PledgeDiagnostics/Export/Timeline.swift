import Foundation
import Pledge

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension Snapshot {
  /// Returns a page in one file, which ends with a ``Timeline`` as JSON.
  func timelinePage() throws -> Data {
    var page = Data(PackageResources.timeline_html)
    var timeline = Timeline(self)
    page.append(contentsOf: try timeline.json())
    page.append(contentsOf: "</script>\n".utf8)
    return page
  }
}

/// The data of the page: a row for each promise, and for each task or thread that waits for one.
///
/// Times are in microseconds; strings and rows are given as indices. The rows are written directly,
/// because `JSONEncoder` takes ten times as long, and with short names, because a page can have
/// 100,000 of them.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
struct Timeline {
  private let snapshot: Snapshot
  private let layout: ChainLayout
  private let dependencies: [Int: [Edge]]
  private var rowOf: [Int: Int] = [:]
  private var strings: [String] = []
  private var indices: [String: Int] = [:]
  private var rows: [UInt8] = []

  init(_ snapshot: Snapshot) {
    self.snapshot = snapshot
    layout = ChainLayout(snapshot)
    dependencies = snapshot.dependencies()
  }

  mutating func json() throws -> [UInt8] {
    struct Head: Encodable {
      let end: Double
      let threads: [String: String]
      let notices: [String]
      let strings: [String]
    }
    for (row, place) in layout.places.enumerated() { rowOf[place.number] = row }
    let tracer = ErrorTracer(snapshot)
    rows.reserveCapacity(layout.places.count * 128)
    for place in layout.places {
      guard let record = snapshot.records[place.number] else { continue }
      rows.append(contentsOf: rows.isEmpty ? "{".utf8 : ",{".utf8)
      write(record, place, tracer)
      rows.append(UInt8(ascii: "}"))
    }
    let head = Head(
      end: Double(snapshot.now) / 1e3,
      threads: Dictionary(
        uniqueKeysWithValues: snapshot.log.threads.values.map {
          ("\($0.number)", snapshot.threadName($0.number))
        }),
      notices: snapshot.waitCycles(dependencies).map(\.description)
        + [snapshot.log.forgotten.sentence].compactMap(\.self),
      strings: strings)
    // Only "<" can end a script element, or change how its end is found. In JSON, it occurs only in
    // strings, so it can be escaped.
    let text = String(decoding: try JSONEncoder().encode(head).dropLast(), as: UTF8.self)
    return Array(text.replacing("<", with: "\\u003C").utf8) + Array(",\"rows\":[".utf8) + rows
      + Array("]}".utf8)
  }

  private mutating func write(
    _ record: Record, _ place: ChainLayout.Place, _ tracer: ErrorTracer?
  ) {
    let snapshot = snapshot
    let settlement = record.settlement
    put("n", record.number)
    put("k", word: kind(of: record))
    put("u", word: state(of: record))
    put("o", index(snapshot.label(of: record)))
    let location = snapshot.location(of: record)
    put("p", location.map { index($0.description) })
    put("f", location?.function.map { index($0) })
    put("x", record.executor.map { index($0.name) })
    // Whether the library created it internally.
    put("l", snapshot.isInternal(record) ? 1 : nil)
    put("d", place.depth)
    // The first row of its chain; for this one, the row after the last one that is indented in it.
    put("h", place.head)
    put("z", place.chainEnd)
    put("m", time: record.made.time)
    put("t", record.made.thread)
    // When its handler could have started; its start, end (-1 if it hasn't ended), and thread, and
    // whether the closure was called.
    put("r", time: record.run == nil ? nil : snapshot.readyTime(of: record))
    rows.append(contentsOf: ",\"q\":[".utf8)
    if let run = record.run {
      rows.append(UInt8(ascii: "["))
      append(time: run.start)
      rows.append(UInt8(ascii: ","))
      append(time: record.runEnd ?? -1000)
      rows.append(contentsOf: ",\(run.thread),\(run.callsClosure ? 1 : 0)]".utf8)
    }
    rows.append(UInt8(ascii: "]"))
    // When it settled, or when nothing else could happen to it.
    put("s", time: settlement?.moment.time ?? record.ended)
    put("st", settlement?.moment.thread)
    put(
      "sp", settlement.flatMap { snapshot.location(of: $0.callStack) }.map { index($0.description) }
    )
    put("e", snapshot.error(of: record).map { index("\($0)") })
    // Why it's pending.
    if record.isPending {
      let edge = dependencies[record.number]?.first
      put("w", index(String(snapshot.reason(of: record, edge).drop { ":, ".contains($0) })))
    }
    // The promises on which its operator was called, that its handler returned, and that it
    // combines.
    put("c", record.source.flatMap { rowOf[$0] })
    put("a", record.adopted.flatMap { rowOf[$0] })
    if let inputs = layout.inputs[record.number]?.compactMap({ rowOf[$0] }) {
      rows.append(contentsOf: ",\"i\":\(inputs)".utf8)
    }
    // Those in whose handlers it was created and settled, and the one from which its error came.
    put("b", layout.surroundings(of: record).flatMap { rowOf[$0] })
    put("g", settlement?.moment.inside.flatMap { $0 == record.number ? nil : rowOf[$0] })
    put("v", tracer?.origin(of: record).flatMap { rowOf[$0.number] })
  }

  private func kind(of record: Record) -> String {
    switch record.kind {
    case .observer: "await"
    case .wait: "wait"
    default: "promise"
    }
  }

  private func state(of record: Record) -> String {
    guard let settlement = record.settlement else { return record.isPending ? "pending" : "done" }
    if settlement.rejection == nil { return "fulfilled" }
    return snapshot.error(of: record) is CancellationError ? "cancelled" : "rejected"
  }

  private mutating func index(_ string: String) -> Int {
    if let index = indices[string] { return index }
    indices[string] = strings.count
    strings.append(string)
    return strings.count - 1
  }

  // MARK: JSON

  private mutating func name(_ name: String) {
    if rows.last != UInt8(ascii: "{") { rows.append(UInt8(ascii: ",")) }
    rows.append(UInt8(ascii: "\""))
    rows.append(contentsOf: name.utf8)
    rows.append(contentsOf: "\":".utf8)
  }

  private mutating func put(_ name: String, _ value: Int?) {
    guard let value else { return }
    self.name(name)
    rows.append(contentsOf: String(value).utf8)
  }

  private mutating func put(_ name: String, time: Int64?) {
    guard let time else { return }
    self.name(name)
    append(time: time)
  }

  private mutating func put(_ name: String, word: String) {
    self.name(name)
    rows.append(contentsOf: "\"\(word)\"".utf8)
  }

  /// Appends nanoseconds as microseconds.
  private mutating func append(time: Int64) {
    rows.append(contentsOf: String(time / 1000).utf8)
    let rest = abs(time % 1000)
    if rest > 0 { rows.append(contentsOf: ".\(String(rest + 1000).dropFirst())".utf8) }
  }
}
