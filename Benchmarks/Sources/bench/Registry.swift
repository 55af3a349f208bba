/// What each library does for each workload.
///
/// A body is called with a size and does that much work, waits until it is done, and checks the
/// result. It is called once per timed round, so a loop over the size belongs into the body, where
/// the compiler sees the calls to the library.
struct Registry {
  /// The size up to which a library survives a workload.
  struct Limit: Sendable {
    let size: Int
    let reason: String

    static func stack(above size: Int) -> Limit { Limit(size: size, reason: "stack overflow") }
    static func memory(above size: Int) -> Limit { Limit(size: size, reason: "out of memory") }
    /// For a library that has the operation but does not do the work at any size.
    static func never(_ reason: String) -> Limit { Limit(size: 0, reason: reason) }
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

    /// The sizes this library is measured at: those it survives, or else the one it does.
    var sizes: [Int] {
      guard let limit else { return workload.sizes }
      if limit.size == 0 { return [] }
      let survived = workload.sizes.filter { $0 <= limit.size }
      return survived.isEmpty ? [limit.size] : survived
    }
  }

  private(set) var cells: [Cell] = []

  /// Adds what `library` does for `workload`.
  ///
  /// - Parameters:
  ///   - workload: The name of a workload; unknown names trap.
  ///   - library: The column of the table.
  ///   - limit: Above which size not to try, and why.
  ///   - note: Which means of the library this is, if that needs saying.
  ///   - body: Does the work, as often or as large as it is told.
  mutating func add(
    _ workload: String, library: String, limit: Limit? = nil, note: String? = nil,
    _ body: @escaping @Sendable (_ size: Int) -> Void
  ) {
    insert(workload, library, limit, note, .sync(body))
  }

  /// Adds a body that runs in a task; starting the task is not timed.
  mutating func addAsync(
    _ workload: String, library: String, limit: Limit? = nil, note: String? = nil,
    _ body: @escaping @Sendable (_ size: Int) async -> Void
  ) {
    insert(workload, library, limit, note, .async(body))
  }

  /// Adds a way to make one object whose memory is measured while it is alive.
  mutating func addPending<Object>(
    _ workload: String, library: String, note: String? = nil,
    _ make: @escaping @Sendable () -> Object
  ) {
    insert(workload, library, nil, note, .pending { Measurement.keeping($0, make) })
  }

  subscript(workload: String, library: String) -> Cell? {
    cells.first { $0.workload.name == workload && $0.library == library }
  }

  private mutating func insert(
    _ name: String, _ library: String, _ limit: Limit?, _ note: String?, _ body: Body
  ) {
    guard let workload = Workload[name] else { fatalError("there is no workload \(name)") }
    precondition(self[name, library] == nil, "\(library) already has a \(name)")
    cells.append(
      Cell(workload: workload, library: library, limit: limit, note: note, body: body))
  }
}
