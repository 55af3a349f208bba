import Synchronization

/// Runs one operation for all callers that request the same key, and caches its value; a stale
/// value is returned while it is refreshed.
///
/// A cancelled caller stops waiting immediately. When all callers are cancelled, so is the
/// operation.
final class AsyncCoalescer<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private struct Work {
    let id: Int
    let task: Task<Void, Never>
    var callers: [Int: CheckedContinuation<Value, any Error>] = [:]
  }

  private struct Cached {
    let value: Value
    let arrival: ContinuousClock.Instant
  }

  private struct State {
    var works: [Key: Work] = [:]
    var cached: [Key: Cached] = [:]
    var nextID = 0
    /// The callers that were cancelled before they started to wait.
    var cancelled: Set<Int> = []
  }

  private let lifetime: Duration
  private let staleLifetime: Duration
  private let capacity: Int
  private let metrics: AsyncCoalescerMetrics
  private let state = Mutex(State())

  init(
    lifetime: Duration, staleLifetime: Duration, capacity: Int, metrics: AsyncCoalescerMetrics
  ) {
    self.lifetime = lifetime
    self.staleLifetime = staleLifetime
    self.capacity = capacity
    self.metrics = metrics
  }

  func value(
    for key: Key, _ operation: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let (cached, caller) = state.withLock { state -> (Value?, Int) in
      if let cached = state.cached[key] {
        let age = cached.arrival.duration(to: .now)
        if age < lifetime {
          metrics.cached.increment()
          return (cached.value, 0)
        }
        if age < lifetime + staleLifetime {
          metrics.stale.increment()
          start(key, operation, &state)
          return (cached.value, 0)
        }
      }
      state.nextID += 1
      return (nil, state.nextID)
    }
    if let cached { return cached }
    // The wait may have ended just before it was cancelled.
    defer { state.withLock { _ = $0.cancelled.remove(caller) } }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isCancelled = state.withLock { state in
          if state.cancelled.remove(caller) != nil { return true }
          let isNew = start(key, operation, &state)
          (isNew ? metrics.started : metrics.joined).increment()
          state.works[key]?.callers[caller] = continuation
          return false
        }
        if isCancelled { continuation.resume(throwing: CancellationError()) }
      }
    } onCancel: {
      leave(key, caller)
    }
  }

  /// Starts the work for `key` unless it is already running; returns whether it did.
  @discardableResult
  private func start(
    _ key: Key, _ operation: @escaping @Sendable () async throws -> Value, _ state: inout State
  ) -> Bool {
    guard state.works[key] == nil else { return false }
    state.nextID += 1
    let id = state.nextID
    let task = Task {
      let result: Result<Value, any Error>
      do { result = .success(try await operation()) } catch { result = .failure(error) }
      self.finish(key, id, result)
    }
    state.works[key] = Work(id: id, task: task)
    return true
  }

  private func finish(_ key: Key, _ id: Int, _ result: Result<Value, any Error>) {
    let callers = state.withLock { state -> [CheckedContinuation<Value, any Error>] in
      // Cancelled work may have a successor.
      guard let work = state.works[key], work.id == id else { return [] }
      state.works[key] = nil
      if case .success(let value) = result {
        if state.cached.count >= capacity, let other = state.cached.keys.first {
          state.cached[other] = nil
        }
        state.cached[key] = Cached(value: value, arrival: .now)
      } else if state.cached[key] != nil {
        metrics.failedRefreshes.increment()
      }
      return Array(work.callers.values)
    }
    for caller in callers { caller.resume(with: result) }
  }

  private func leave(_ key: Key, _ caller: Int) {
    let (continuation, task) = state.withLock {
      state -> (CheckedContinuation<Value, any Error>?, Task<Void, Never>?) in
      guard let continuation = state.works[key]?.callers.removeValue(forKey: caller) else {
        state.cancelled.insert(caller)
        return (nil, nil)
      }
      guard state.works[key]?.callers.isEmpty == true else { return (continuation, nil) }
      return (continuation, state.works.removeValue(forKey: key)?.task)
    }
    continuation?.resume(throwing: CancellationError())
    task?.cancel()
  }
}
