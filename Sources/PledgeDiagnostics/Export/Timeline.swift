import Foundation
import Pledge

extension Trace {
  /// Returns a page for any browser that shows the chains on a timeline and loads nothing from the
  /// network.
  ///
  /// Throws the encoder's errors.
  ///
  /// - Complexity: O(n log n) for n promises in the record; the first report also looks up source
  ///   locations in the program's debug information.
  public func timelinePage() throws -> Data {
    var page = Data(PackageResources.timeline_html)
    var timeline = Timeline(snapshot())
    page.append(contentsOf: try timeline.json())
    page.append(contentsOf: "</script>\n".utf8)
    return page
  }

  /// Writes the ``timelinePage()`` to `file`, whose name should end in `.html`.
  ///
  /// An existing file is replaced atomically. Throws the errors of the file system.
  public func write(to file: URL) throws {
    try timelinePage().write(to: file, options: .atomic)
  }
}

/// The data of the page: a row for each promise, and for each task or thread that waits for one.
///
/// Times are in nanoseconds; strings and rows are given as indices. The rows are written directly,
/// because `JSONEncoder` takes ten times as long, and with short names, because a page can have
/// 100,000 of them.
private struct Timeline {
  private let snapshot: Snapshot
  private let layout: ChainLayout
  private let dependencies: Dependencies
  private var rowOf: [Int: Int] = [:]
  private var strings: [String] = []
  private var indices: [String: Int] = [:]
  private var rows: [UInt8] = []

  init(_ snapshot: Snapshot) {
    self.snapshot = snapshot
    layout = ChainLayout(snapshot)
    dependencies = Dependencies(snapshot)
  }

  mutating func json() throws -> Data {
    struct Head: Encodable {
      let end: Int64
      let notices: [String]
      let strings: [String]
    }
    for (row, place) in layout.places.enumerated() { rowOf[place.number] = row }
    rows.reserveCapacity(layout.places.count * 128)
    for place in layout.places {
      if let record = snapshot.records[place.number] { write(record, place) }
    }
    let head = Head(
      end: snapshot.now,
      notices: snapshot.waitCycles(dependencies).map(\.description)
        + [snapshot.log.notice].compactMap(\.self),
      strings: strings)
    // Only "<" can end a script element, or change how its end is found. In JSON, it occurs only in
    // strings, so it can be escaped.
    let text = String(decoding: try JSONEncoder().encode(head).dropLast(), as: UTF8.self)
      .split(separator: "<", omittingEmptySubsequences: false).joined(separator: "\\u003C")
    return Data("\(text),\"rows\":[".utf8) + rows + Data("]}".utf8)
  }

  private mutating func write(_ record: Record, _ place: ChainLayout.Place) {
    let snapshot = snapshot
    let settlement = record.settlement
    let kind = record.kind == .observer ? "await" : record.kind == .wait ? "wait" : "promise"
    let location = snapshot.location(of: record)
    let reason =
      record.isPending
      ? snapshot.reason(of: record, dependencies[record.number].first) : nil
    let fields: [(StaticString, Int?)] = [
      ("n", record.number),
      ("k", index(kind)),
      ("u", index(state(of: record))),
      ("o", index(snapshot.label(of: record))),
      ("p", index(location?.description)),
      ("f", index(location?.function)),
      ("x", index(record.executor?.name)),
      // Whether the library created it internally.
      ("l", snapshot.isInternal(record) ? 1 : nil),
      ("d", place.depth),
      // The first row of its chain; for this one, the row after the last one that is indented in it.
      ("h", place.head),
      ("z", place.chainEnd),
      ("m", Int(record.made.time)),
      ("t", Int(record.made.thread)),
      // When its handler could have started; its start, end (if it has ended), and thread, and
      // whether the closure was called.
      ("r", record.run.map { _ in Int(snapshot.readyTime(of: record)) }),
      ("rs", record.run.map { Int($0.start) }),
      ("re", record.run?.end.map { Int($0) }),
      ("rt", record.run.map { Int($0.thread) }),
      ("rc", record.run.map { $0.callsClosure ? 1 : 0 }),
      // When it settled, or when nothing else could happen to it.
      ("s", record.ending.map { Int($0.moment.time) }),
      ("st", settlement.map { Int($0.moment.thread) }),
      ("sp", index(settlement.flatMap { snapshot.location(of: $0.callStack) }?.description)),
      ("e", index(snapshot.error(of: record).map { "\($0)" })),
      ("w", index(reason.map { String($0.drop { ":, ".contains($0) }) })),
      // The promises on which its operator was called, and that its handler returned.
      ("c", record.source.flatMap { rowOf[$0] }),
      ("a", record.adopted.flatMap { rowOf[$0] }),
      // Those in whose handlers it was created and settled, and the one from which its error came.
      ("b", layout.surroundings(of: record).flatMap { rowOf[$0] }),
      ("g", settlement?.moment.inside.flatMap { $0 == record.number ? nil : rowOf[$0] }),
      ("v", snapshot.errorOrigin(of: record).flatMap { rowOf[$0.number] }),
    ]
    // The promises that it combines.
    let inputs = (snapshot.inputs[record.number] ?? []).compactMap { rowOf[$0] }
    append(rows.isEmpty ? "{\"i\":\(inputs)" : ",{\"i\":\(inputs)")
    for case (let name, let value?) in fields {
      append(",\"")
      rows.append(
        contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
      append("\":")
      append(String(value))
    }
    append("}")
  }

  private mutating func append(_ text: String) { rows.append(contentsOf: text.utf8) }

  private mutating func index(_ string: String?) -> Int? {
    guard let string else { return nil }
    if let index = indices[string] { return index }
    indices[string] = strings.count
    strings.append(string)
    return strings.count - 1
  }

  private func state(of record: Record) -> String {
    guard let settlement = record.settlement else { return record.isPending ? "pending" : "done" }
    if settlement.rejection == nil { return "fulfilled" }
    return snapshot.error(of: record) is CancellationError ? "cancelled" : "rejected"
  }
}
