import Dispatch

/// The implementations of all workloads by all libraries.
///
/// A body is called with a size, performs that amount of work, waits until it is done, and checks
/// the result. It is called once per timed round, so a loop over the size belongs in the body,
/// where the compiler sees the calls to the library.
struct Registry {
  /// The largest size that a library can handle for a workload.
  struct Limit: Sendable {
    let size: Int
    let reason: String

    static func stack(above size: Int) -> Limit { Limit(size: size, reason: "stack overflow") }
  }

  enum Body: Sendable {
    case sync(@Sendable (Int) -> Void)
    case async(@Sendable (Int) async -> Void)
    case pending(@Sendable (Int) -> Measurement)
  }

  struct Cell: Sendable {
    let workload: Workload
    let library: String
    let limit: Limit?
    let note: String?
    let body: Body

    /// The sizes at which this library is measured: those within its limit, or else the limit
    /// itself.
    var sizes: [Int] {
      guard let limit else { return workload.sizes }
      let survived = workload.sizes.filter { $0 <= limit.size }
      return survived.isEmpty ? [limit.size] : survived
    }
  }

  private(set) var cells: [Cell] = []

  /// Adds the implementation of `workload` by `library`.
  ///
  /// - Parameters:
  ///   - workload: The name of a workload; unknown names trap.
  ///   - library: The column of the table.
  /// - limit: The size above which the workload isn't run, and why.
  /// - note: The feature of the library that is used, if that needs an explanation.
  /// - body: Does the work, as often or as large as its argument specifies.
  mutating func add(
    _ workload: String, library: String, limit: Limit? = nil, note: String? = nil,
    _ body: @escaping @Sendable (_ size: Int) -> Void
  ) { insert(workload, library, limit, note, .sync(body)) }

  /// Adds a body that runs in a task; the start of the task isn't timed.
  mutating func addAsync(
    _ workload: String, library: String, limit: Limit? = nil, note: String? = nil,
    _ body: @escaping @Sendable (_ size: Int) async -> Void
  ) { insert(workload, library, limit, note, .async(body)) }

  /// Adds a closure that creates one object whose memory is measured while it is alive.
  mutating func addPending<Object>(
    _ workload: String, library: String, note: String? = nil,
    _ make: @escaping @Sendable () -> Object
  ) { insert(workload, library, nil, note, .pending { Measurement.keeping($0, make) }) }

  /// Adds a body that leaves the sum of its results in a slot, in which it is checked.
  ///
  /// Inlined, as are the following ones, so that the compiler sees the calls to the library.
  @inline(__always)
  mutating func addSum(
    _ name: String, library: String, limit: Limit? = nil, note: String? = nil,
    _ body: @escaping @Sendable (_ size: Int, _ sum: Slot<Int>) -> Void
  ) {
    let workload = Workload[name]
    add(name, library: library, limit: limit, note: note) { size in
      let sum = Slot(0)
      body(size, sum)
      check(sum.value, is: workload?.sum(size) ?? 0)
    }
  }

  /// Adds the workloads in which one promise after another has handlers on a serial queue.
  ///
  /// - Parameter start: Attaches a number of handlers, each to the promise of the one before, of which the
  ///   last signals the semaphore.
  @inline(__always)
  mutating func addThens(
    library: String, note: String? = nil,
    _ start: @escaping @Sendable (_ count: Int, DispatchSemaphore) -> Void
  ) {
    for count in 1...3 {
      add("google-then-\(count)", library: library, note: note) { tries in
        let semaphore = DispatchSemaphore(value: 0)
        for _ in 0..<tries {
          start(count, semaphore)
          semaphore.wait()
        }
      }
    }
  }

  /// Adds the workload in which one chain after another hops to a serial queue.
  ///
  /// - Parameter start: Settles a promise with 1 after attaching a chain to it, whose end calls `end` with
  ///   the value.
  @inline(__always)
  mutating func addQueueChains(
    library: String, note: String? = nil,
    _ start: @escaping @Sendable (_ end: @escaping @Sendable (Int) -> Void) -> Void
  ) {
    addSum("queue-chain", library: library, note: note) { chains, sum in
      let done = DispatchSemaphore(value: 0)
      let end: @Sendable (Int) -> Void = { value in
        sum.value &+= value
        done.signal()
      }
      for _ in 0..<chains {
        start(end)
        done.wait()
      }
    }
  }

  /// Adds the workload in which many promises have a handler each, on a concurrent queue.
  @inline(__always)
  mutating func addConcurrent(
    library: String, note: String? = nil,
    _ start: @escaping @Sendable (Latch) -> Void
  ) {
    add("google-concurrent", library: library, note: note) { count in
      let latch = Latch(count)
      for _ in 0..<count { start(latch) }
      latch.wait()
    }
  }

  /// Adds the workloads in which two threads collide on each of many promises.
  @inline(__always)
  mutating func addContended<Source: Sendable>(
    library: String, note: String? = nil, _ make: @escaping @Sendable () -> Source,
    settle: @escaping @Sendable (Source, Int) -> Void,
    observe: @escaping @Sendable (Source, Latch) -> Void
  ) {
    add("contended-observe", library: library, note: note) { count in
      let sources = (0..<count).map { _ in make() }
      let latch = Latch(count)
      contend(count) {
        settle(sources[$0], $0)
      } _: {
        observe(sources[$0], latch)
      }
      latch.wait()
    }
    add("contended-settle", library: library, note: note) { count in
      let sources = (0..<count).map { _ in make() }
      let latch = Latch(count)
      for source in sources { observe(source, latch) }
      contend(count) {
        settle(sources[$0], $0)
      } _: {
        settle(sources[$0], -$0)
      }
      latch.wait()
    }
  }

  subscript(workload: String, library: String) -> Cell? {
    cells.first { $0.workload.name == workload && $0.library == library }
  }

  private mutating func insert(
    _ name: String, _ library: String, _ limit: Limit?, _ note: String?, _ body: Body
  ) {
    guard let workload = Workload[name] else { fatalError("there is no workload \(name)") }
    precondition(self[name, library] == nil, "\(library) already has a \(name)")
    cells.append(Cell(workload: workload, library: library, limit: limit, note: note, body: body))
  }
}
