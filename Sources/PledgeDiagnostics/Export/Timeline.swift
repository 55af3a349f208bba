import Foundation
import Pledge

/// The contents of the page: a row for each promise, chain by chain.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
struct Timeline {
  /// A promise, or a task or thread that waits for one.
  ///
  /// Times are in microseconds; strings and rows are given as indices.
  struct Row {
    enum State: String { case fulfilled, rejected, cancelled, pending, done }

    /// A promise, or an `await` or a thread's `wait()`, which are only observers.
    enum Kind: String { case promise, await, wait }

    let number: Int
    let kind: Kind
    let operation: Int
    var place: Int?
    var function: Int?
    var executor: Int?
    let state: State
    /// 1 if the library created it internally.
    var isInternal: Int?
    /// Its level of indentation.
    let depth: Int
    /// The first row of its chain.
    let head: Int
    /// The row after the last one of its chain and of the chains indented in it; only for heads.
    var chainEnd: Int?

    let made: Double
    let thread: Int
    /// When its handler could have started.
    var ready: Double?
    /// For the run of its handler, if it has one: start, end (-1 if it hasn't ended), thread, and whether the closure was called
    /// (1) or not (0).
    var runs: [[Double]]
    /// When it settled, or when nothing else could happen to it.
    var settled: Double?
    var settledOn: Int?
    var settledAt: Int?

    var error: Int?
    /// A description of why it's pending.
    var reason: Int?
    /// The promise on which its operator was called.
    var source: Int?
    /// The promise that its handler returned.
    var adopted: Int?
    /// The promises that it combines.
    var inputs: [Int]?
    /// The promise in whose handler it was created.
    var inside: Int?
    /// The promise in whose handler it was settled.
    var settler: Int?
    /// The promise that was rejected with its error before it.
    var errorFrom: Int?
  }

  let end: Double
  let threads: [String: String]
  let notices: [String]
  let strings: [String]
  let rows: [Row]
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension Snapshot {
  func timeline() -> Timeline {
    let layout = ChainLayout(self)
    let rowOf = Dictionary(
      uniqueKeysWithValues: layout.places.enumerated().map { ($1.number, $0) })
    let pendingTree = pendingTree()
    let reasons = Dictionary(
      pendingTree.nodes.map { ($0.number, $0.words) }, uniquingKeysWith: { first, _ in first })
    let tracer = ErrorTracer(self)

    var strings: [String] = []
    var indices: [String: Int] = [:]
    func index(_ string: String?) -> Int? {
      guard let string else { return nil }
      if let index = indices[string] { return index }
      indices[string] = strings.count
      strings.append(string)
      return strings.count - 1
    }

    let rows = layout.places.compactMap { place -> Timeline.Row? in
      guard let record = records[place.number] else { return nil }
      let location = self.location(of: record)
      let settlement = record.settlement
      let inputs = layout.inputs[place.number]?.compactMap { rowOf[$0] }
      let reason = reasons[place.number].map {
        String($0.drop { ":, ".contains($0) })
      }
      return Timeline.Row(
        number: record.number, kind: rowKind(of: record), operation: index(label(of: record)) ?? 0,
        place: index(location?.description), function: index(location?.function),
        executor: index(record.executor?.name), state: rowState(of: record),
        isInternal: isInternal(record) ? 1 : nil, depth: place.depth,
        head: place.head, chainEnd: place.chainEnd, made: record.made.time.microseconds,
        thread: record.made.thread,
        ready: record.run == nil ? nil : readyTime(of: record).microseconds,
        runs: [record.run].compactMap(\.self).map { run in
          [
            run.start.microseconds, record.runEnd?.microseconds ?? -1, Double(run.thread),
            run.callsClosure ? 1 : 0,
          ]
        },
        settled: (settlement?.moment.time ?? record.ended)?.microseconds,
        settledOn: settlement?.moment.thread,
        settledAt: index(settlement.flatMap { self.location(of: $0.callStack) }?.description),
        error: index(error(of: record).map { "\($0)" }), reason: index(reason),
        source: record.source.flatMap { rowOf[$0] }, adopted: record.adopted.flatMap { rowOf[$0] },
        inputs: inputs, inside: layout.surroundings(of: record).flatMap { rowOf[$0] },
        settler: settlement?.moment.inside.flatMap { $0 == record.number ? nil : rowOf[$0] },
        errorFrom: tracer?.origin(of: record).flatMap { rowOf[$0.number] })
    }
    return Timeline(
      end: now.microseconds,
      threads: Dictionary(
        uniqueKeysWithValues: log.threads.values.map { ("\($0.number)", threadName($0.number)) }),
      notices: pendingTree.cycles.map(\.description)
        + [log.forgotten.sentence].compactMap(\.self),
      strings: strings, rows: rows)
  }

  private func rowKind(of record: Record) -> Timeline.Row.Kind {
    switch record.kind {
    case .observer: .await
    case .wait: .wait
    default: .promise
    }
  }

  private func rowState(of record: Record) -> Timeline.Row.State {
    if let settlement = record.settlement {
      if settlement.rejection == nil { return .fulfilled }
      return error(of: record) is CancellationError ? .cancelled : .rejected
    }
    return record.isPending ? .pending : .done
  }

  /// Returns a page in one file, which ends with the timeline as JSON.
  func timelinePage() throws -> Data {
    var page = Data(PackageResources.timeline_html)
    // Only "<" can end a script element, or change how its end is found. In JSON, it occurs only in
    // strings, so it can be escaped.
    page.append(contentsOf: try timeline().json().replacing("<", with: "\\u003C").utf8)
    page.append(contentsOf: "</script>\n".utf8)
    return page
  }
}

// MARK: - JSON

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension Timeline {
  private struct Head: Encodable {
    let end: Double
    let threads: [String: String]
    let notices: [String]
    let strings: [String]
  }

  /// The timeline as JSON.
  ///
  /// The rows contain only numbers and constants and are written directly, because `JSONEncoder`
  /// takes ten times as long, and a page can have 100,000.
  func json() throws -> String {
    let head = Head(end: end, threads: threads, notices: notices, strings: strings)
    var json = String(decoding: try JSONEncoder().encode(head), as: UTF8.self)
    json.removeLast()
    json += ",\"rows\":["
    json.reserveCapacity(json.utf8.count + rows.count * 128)
    for (index, row) in rows.enumerated() {
      if index > 0 { json += "," }
      row.write(to: &json)
    }
    return json + "]}"
  }
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension Timeline.Row {
  fileprivate func write(to json: inout String) {
    // Short names, because a page can have many rows.
    json += "{\"n\":\(number),\"k\":\"\(kind.rawValue)\",\"u\":\"\(state.rawValue)\""
    func put(_ name: String, _ value: (some CustomStringConvertible)?) {
      guard let value else { return }
      json += ",\""
      json += name
      json += "\":"
      json += value.description
    }
    put("o", operation)
    put("p", place)
    put("f", function)
    put("x", executor)
    put("l", isInternal)
    put("d", depth)
    put("h", head)
    put("z", chainEnd)
    put("m", made)
    put("t", thread)
    put("r", ready)
    put("q", runs)
    put("s", settled)
    put("st", settledOn)
    put("sp", settledAt)
    put("e", error)
    put("w", reason)
    put("c", source)
    put("a", adopted)
    put("i", inputs)
    put("b", inside)
    put("g", settler)
    put("v", errorFrom)
    json += "}"
  }
}
