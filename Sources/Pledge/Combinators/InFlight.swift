import Synchronization

/// Work that is shared, by key, by all who ask for it while it is under way.
///
/// ```swift
/// let images = InFlight<URL, Image>()
/// func image(at url: URL) -> Promise<Image> { images.promise(for: url) { download(url) } }
/// ```
///
/// Each caller gets a promise of its own. Cancelling it, or letting it time out, concerns nobody
/// else; when all callers have cancelled, the work is. Errors are never kept: who asks after a
/// failure starts anew.
public final class InFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private struct Entry {
    let id: Int
    let promise: Promise<Value>
  }

  private struct State {
    var entries: [Key: Entry] = [:]
    var nextID = 0
  }

  private let state = Mutex(State())
  private let keepsValues: Bool

  /// Makes an empty table.
  ///
  /// - Parameter keepingValues: Whether a value that has arrived is kept and given to all later
  ///   callers ("memoized"), until it is removed.
  public init(keepingValues: Bool = false) { keepsValues = keepingValues }

  /// How many keys are under way or kept.
  public var count: Int { state.withLock { $0.entries.count } }

  /// Returns a promise of the value for `key`; `start` is called unless it is under way or kept.
  ///
  /// **Execution.** `start` runs inside this call.
  public func promise(for key: Key, _ start: () throws -> Promise<Value>) -> Promise<Value> {
    let (fresh, resolver) = Promise<Value>.withResolvers()
    let entry: (promise: Promise<Value>, id: Int?) = state.withLock { state in
      if let entry = state.entries[key], !entry.promise.isCancelled {
        return (entry.promise.share(), nil)
      }
      let id = state.nextID
      state.nextID += 1
      state.entries[key] = Entry(id: id, promise: fresh)
      return (fresh.share(), id)
    }
    guard let id = entry.id else {
      resolver.abandon()
      return entry.promise
    }
    // Attached before the work starts, so that the entry has gone when callers hear of an error.
    fresh.cell.onCancel { [weak self] in self?.remove(key, id: id) }
    let work: Promise<Value> = Promise.attempt { try start() }
    resolver.resolve(
      with: work.tapped(_HandlerTarget(immediate: ())) { [weak self] result in
        guard let self else { return }
        if case .success = result, keepsValues { return }
        remove(key, id: id)
      })
    return entry.promise
  }

  /// Forgets the value for `key`; work under way goes on for those who wait for it.
  public func removeValue(for key: Key) {
    let removed = state.withLock { $0.entries.removeValue(forKey: key) }
    withExtendedLifetime(removed) {}
  }

  /// Forgets all values; work under way goes on for those who wait for it.
  public func removeAll() {
    let removed = state.withLock { state in
      defer { state.entries = [:] }
      return state.entries
    }
    withExtendedLifetime(removed) {}
  }

  private func remove(_ key: Key, id: Int) {
    let removed: Entry? = state.withLock { state in
      state.entries[key]?.id == id ? state.entries.removeValue(forKey: key) : nil
    }
    withExtendedLifetime(removed) {}
  }
}

extension Promise {
  /// A promise of one's own: cancelling it takes back one's interest in this one.
  func share() -> Promise { mapped(_HandlerTarget(immediate: ())) { $0 } }
}
