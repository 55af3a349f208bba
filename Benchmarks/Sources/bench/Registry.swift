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

  /// Adds the workloads in which two threads collide on each of many promises.
  ///
  /// Inlined, so that the compiler sees the calls to the library.
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
