/// An asynchronous closure that can be called several times, and is released in the isolation in
/// which it was written.
///
/// A promise that a task of the operation settles records the isolation, so that `wait()` detects a
/// deadlock: the operation can't run on an actor that the wait blocks.
struct IsolatedOperation<Input: Sendable, Value: Sendable>: Sendable {
  /// The place of the operation; nil if it isn't isolated.
  private let isolation: HandlerTarget?
  private let call: @Sendable (Input) async throws -> Value

  init(_ operation: @escaping @Sendable @isolated(any) (Input) async throws -> Value) {
    self.init(operation.isolation) { try await operation($0) }
  }

  init(_ operation: @escaping @Sendable @isolated(any) () async throws -> Value)
  where Input == Void {
    self.init(operation.isolation) { _ in try await operation() }
  }

  private init(
    _ actor: (any Actor)?, _ call: @escaping @Sendable (Input) async throws -> Value
  ) {
    guard let actor else {
      isolation = nil
      self.call = call
      return
    }
    let isolation = HandlerTarget(isolation: actor)
    let keeper = Placed(call, at: isolation).keeper()
    self.isolation = isolation
    self.call = { try await keeper.closure($0) }
  }

  func callAsFunction(_ input: Input) async throws -> Value { try await call(input) }

  func callAsFunction() async throws -> Value where Input == Void { try await call(()) }

  /// Records that a task in the isolation of the operation settles `promise`, and returns it.
  func settling<Result: Sendable>(_ promise: Promise<Result>) -> Promise<Result> {
    if let isolation { promise.cell.noteProducer(.closure(isolation)) }
    return promise
  }

  /// Returns a promise for the result of a new task that runs the operation.
  @Sendable
  func start(_ input: Input) -> Promise<Value> { settling(Promise { try await call(input) }) }
}

extension IsolatedOperation where Input == Void {
  /// Returns a promise for the result of a new task that runs the operation.
  @Sendable
  func start() -> Promise<Value> { start(()) }
}

extension Promise {
  /// Creates a promise for the result of `body`, which runs in a new task and calls `operation`.
  init<T>(
    calling operation: IsolatedOperation<Void, T>, fileID: StaticString = #fileID,
    line: UInt = #line, _ body: @escaping @Sendable () async throws -> Value
  ) {
    self = operation.settling(Promise(priority: nil, fileID: fileID, line: line, body))
  }
}
