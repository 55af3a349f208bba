/// Runs an operation for each of several inputs, in workers, for a reader of the results.
///
/// A worker is a task that takes inputs and runs the operation until there is nothing to do or no
/// room. Of the workers, one at a time takes an input from the source; before it runs the operation,
/// it starts another worker if that could do something. So there are never more workers than
/// operations that run, the one that waits for the source, and one that has just been started.
@usableFromInline
final class ResultStream: Sendable {
  /// Returns the next input; one worker at a time calls it.
  @usableFromInline typealias Source = @Sendable () async throws -> ResultItem?

  private let queue: Mutex<ResultQueue>
  private let source: Source
  private let operation: @Sendable (ResultItem) async -> Void

  @usableFromInline
  init(
    limit: Int, bufferLimit: Int?, isOrdered: Bool, _ source: @escaping Source,
    _ operation: @escaping @Sendable (ResultItem) async -> Void
  ) {
    queue = Mutex(ResultQueue(limit, bufferLimit, isOrdered))
    self.source = source
    self.operation = operation
  }

  // MARK: The reader

  @usableFromInline
  nonisolated(nonsending) func next() async throws -> ResultItem? {
    try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in
        if Task.isCancelled { cancel() }
        change { $0.addReader(continuation) }
      }
    } onCancel: {
      cancel()
    }
  }

  @usableFromInline
  func append(_ input: ResultItem) -> Bool { change { $0.append(input) } }

  /// Cancels the workers, and ends the sequence, for readers that wait or read later, with `error`.
  @usableFromInline
  func cancel(with error: (any Error)? = CancellationError()) {
    let (tasks, rest) = queue.withLock { $0.end(with: error) }
    tasks.forEach(RemainingWork.cancel)
    withExtendedLifetime(rest) {}
    change { _ in }
  }

  /// Changes the queue, then resumes the readers and starts the worker for which there is work.
  private func change<T: Sendable>(_ change: (inout ResultQueue) -> T) -> T {
    let (result, readers, worker) = queue.withLock { queue -> (T, [ResultQueue.Reading], Int?) in
      let result = change(&queue)
      return (result, queue.takeReadings(), queue.addWorkerIfNeeded())
    }
    for reading in readers { reading.resume() }
    if let worker { start(worker) }
    return result
  }

  // MARK: Workers

  private func start(_ worker: Int) {
    let task = Task(priority: Task.currentPriority) { await work(worker) }
    let isCancelled = queue.withLock { $0.note(task, of: worker) }
    if isCancelled { RemainingWork.cancel(task) }
  }

  private func work(_ worker: Int) async {
    var step = change { $0.firstStep(worker) }
    while true {
      switch step {
      case .end: return
      case .pull:
        let pulled: Result<ResultItem?, any Error>
        do {
          pulled = try await .success(source())
        } catch {
          pulled = .failure(error)
        }
        step = change { $0.nextStep(worker, afterPulling: pulled) }
      case .run(let item, let index):
        await operation(item)
        step = change { $0.nextStep(worker, afterRunning: index, item) }
      }
    }
  }
}
