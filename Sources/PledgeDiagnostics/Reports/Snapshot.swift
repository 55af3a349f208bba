import Pledge

/// An immutable copy of a trace's log, from which reports are produced.
struct Snapshot {
  let log: Log
  let now: Int64
  /// The records in the order of their numbers.
  var ordered: some BidirectionalCollection<Record> {
    numbers.lazy.compactMap { log.records[$0] }
  }
  private let numbers: [Int]
  /// The promises for which a combinator waits, or that were passed to a promise's resolver, by the
  /// number of the combinator's or resolver's promise.
  let inputs: [Int: [Int]]

  init(log: Log, now: Int64) {
    self.log = log
    self.now = now
    numbers = log.records.numbers
    var inputs: [Int: [Int]] = [:]
    for record in numbers.lazy.compactMap({ log.records[$0] }) where record.isInput {
      if let result = record.result, let source = record.source, log.records.contains(result),
        log.records.contains(source)
      {
        inputs[result, default: []].append(source)
      }
    }
    self.inputs = inputs
  }

  var records: RecordTable { log.records }

  func error(of record: Record) -> (any Error)? { rejection(of: record)?.error }

  func rejection(of record: Record) -> PromiseDiagnostics.Rejection? {
    record.settlement?.rejection.flatMap { log.failures[$0]?.rejection }
  }

  /// Returns the source location of a call stack: its first function outside the library.
  func location(of callStack: UInt32) -> SourceLocation? {
    LocationFinder.shared.location(of: callStack)
  }

  func location(of record: Record) -> SourceLocation? {
    if let origin = record.origin, !SourceLocation.isInLibrary(origin) {
      return SourceLocation(
        file: origin.fileID, line: Int(clamping: origin.line), function: nil, operation: nil)
    }
    return location(of: record.callStack)
  }

  /// Returns whether the library created it internally: its call stack contains no user code.
  func isInternal(_ record: Record) -> Bool {
    record.callStack != 0 && location(of: record.callStack) == nil
  }

  func operation(of record: Record) -> String {
    let operation = location(of: record.callStack)?.operation
    switch record.kind {
    case .resolver:
      let isOfLibrary = record.origin.map(SourceLocation.isInLibrary) ?? false
      return isOfLibrary ? operation ?? "promise" : "promise"
    case .combinator: return operation ?? "combinator"
    case .handler: return operation ?? "handler"
    case .observer: return record.result == nil ? "await" : "input"
    case .wait: return "wait()"
    case .unknown: return "promise"
    }
  }

  /// Returns the operation and the promise's name.
  func label(of record: Record) -> String {
    operation(of: record) + (log.names[record.number].map { " \u{201C}\($0)\u{201D}" } ?? "")
  }

  /// Returns the number, operation, name, and source location.
  func title(of record: Record) -> String {
    "#\(record.number) \(label(of: record))" + (location(of: record).map { " at \($0)" } ?? "")
  }

  /// Returns the line for a record: its title and `words`.
  func line(_ record: Record, _ words: String, depth: Int = 0) -> Trace.Line {
    Trace.Line(
      number: record.number, promise: record.id, operation: operation(of: record),
      location: location(of: record), depth: depth, description: title(of: record) + words)
  }

  /// Returns the name of the thread that runs the handler, or that waits.
  func threadName(of record: Record) -> String {
    let isMain =
      record.executor == PromiseDiagnostics.ExecutorReference.Permanent.main.executor
    return isMain ? "the main thread" : "thread \(record.run?.thread ?? record.made.thread)"
  }
}

// MARK: - What waits for what

/// Why one promise waits for another one.
enum Dependency: Sendable, Hashable {
  /// An operator was called on it.
  case source
  /// The handler returned it.
  case adoption
  /// It's an input of a combinator, or was passed to a resolver.
  case input
  /// The handler blocks in `wait()`.
  case blocking
  /// Another handler, which was called inside this promise's handler, hasn't returned.
  case nested
  /// A thread that its executor needs blocks in `wait()`; `isCertain` if the executor is serial.
  case executor(isCertain: Bool)
}

/// A promise for which another one waits.
struct Edge: Sendable {
  let target: Int
  let reason: Dependency
}

/// The promises for which each pending promise waits.
struct Dependencies {
  private let snapshot: Snapshot
  /// Those that don't follow from the promise's own record.
  private var others: [Int: [Edge]] = [:]

  init(_ snapshot: Snapshot) {
    self.snapshot = snapshot
    for record in snapshot.ordered where record.isPending && record.adopted == nil {
      guard let source = record.source, let result = record.result else { continue }
      if record.isInput { add(result, source, .input) }
      if record.kind == .wait { add(result, record.number, .blocking) }
    }
    for running in snapshot.log.running {
      for (outer, inner) in zip(running, running.dropFirst()) {
        add(outer, inner, .nested)
      }
    }
  }

  private mutating func add(_ number: Int, _ target: Int, _ reason: Dependency) {
    if isPending(number), isPending(target) {
      others[number, default: []].append(Edge(target: target, reason: reason))
    }
  }

  /// Adds the waits that block the executors of handlers that haven't started.
  mutating func addExecutors() {
    let waits = snapshot.ordered.filter { $0.isPending && $0.kind == .wait }
    // The executors that each wait occupies: the main one, and those of the handlers around it.
    let blocked = waits.map { wait in
      let handlers = snapshot.log.running[Int(wait.made.thread) - 1]
      return (wait.number, [wait] + handlers.compactMap { snapshot.records[$0] })
    }
    guard !blocked.isEmpty else { return }
    for record in snapshot.ordered where record.isPending && record.kind == .handler {
      guard let executor = record.executor, let id = executor.id, record.run == nil,
        executor.isSerial != false
      else { continue }
      for (wait, occupants) in blocked where occupants.contains(where: { $0.executor?.id == id }) {
        add(record.number, wait, .executor(isCertain: executor.isSerial == true))
      }
    }
  }

  subscript(number: Int) -> [Edge] {
    guard let record = snapshot.records[number], record.isPending else { return [] }
    let others = others[number] ?? []
    let target = record.adopted ?? (record.isInput ? nil : record.source)
    guard let target, isPending(target) else { return others }
    return [Edge(target: target, reason: record.adopted == nil ? .source : .adoption)] + others
  }

  private func isPending(_ number: Int) -> Bool { snapshot.records[number]?.isPending == true }
}

extension Int64 {
  /// Nanoseconds, rounded and with a unit: `1.25 s`, `300 ms`, `12 µs`.
  var brief: String {
    let (value, unit) =
      switch self {
      case 1_000_000_000...: (Double(self) / 1e9, "s")
      case 1_000_000...: (Double(self) / 1e6, "ms")
      default: (Double(self) / 1e3, "µs")
      }
    let rounded = value < 100 ? (value * 100).rounded() / 100 : value.rounded()
    return "\(Int(exactly: rounded).map { "\($0)" } ?? "\(rounded)") \(unit)"
  }
}
