import Dispatch

/// The library's only access to Dispatch's queues.
package enum Queues {
  private static let globalQueue = DispatchQueue.global()

  /// The global concurrent queue.
  static var global: DispatchQueue {
    cached(in: &globalQueueWord, globalQueue).takeUnretainedValue()
  }

  /// Whether `queue` is one of the global concurrent queues, for which Dispatch returns a new object
  /// each time on Linux.
  package static func isGlobal(_ queue: AnyObject) -> Bool {
    (queue as? DispatchQueue)?.label.hasPrefix("com.apple.root.") == true
  }

  private static let mainQueue = DispatchQueue.main

  /// The main queue, for which Dispatch returns a new object each time on Linux.
  static var main: DispatchQueue {
    cached(in: &mainQueueWord, mainQueue).takeUnretainedValue()
  }

  /// Returns a new serial queue, which has a thread even if all threads of the global queue are
  /// blocked.
  static func serial(label: String) -> DispatchQueue {
    DispatchQueue(label: label, qos: .userInitiated)
  }

  @inline(__always)
  static func async(
    on queue: DispatchQueue, group: DispatchGroup? = nil, flags: DispatchWorkItemFlags = [],
    _ work: @escaping @Sendable () -> Void
  ) {
    guard isFollowed else { return queue.async(group: group, flags: flags, execute: work) }
    follow(queue, group, flags, work).map { queue.async(flags: flags, execute: $0) }
  }

  // MARK: - Following

  /// Returns the work to send to the queue in place of the given one; nil to send nothing.
  package typealias Follower =
    @Sendable (DispatchQueue, DispatchWorkItemFlags, @escaping @Sendable () -> Void) ->
    (@Sendable () -> Void)?

  private static let follower = Mutex<[Follower]>([])

  @inline(__always)
  private static var isFollowed: Bool {
    withAtomic(&isFollowedWord) { $0.load(ordering: .relaxed) } != 0
  }

  @inline(never)
  private static func follow(
    _ queue: DispatchQueue, _ group: DispatchGroup?, _ flags: DispatchWorkItemFlags,
    _ work: @escaping @Sendable () -> Void
  ) -> (@Sendable () -> Void)? {
    group?.enter()
    let body: @Sendable () -> Void = {
      work()
      group?.leave()
    }
    return follower.withLock { $0.first }.map { $0(queue, flags, body) } ?? body
  }

  /// Passes all work on its way to a queue to `follower`, so that tests know when it has ended.
  ///
  /// It can be set once, and costs one load of a flag until then.
  package static func setFollower(_ new: @escaping Follower) {
    follower.withLock { $0 = [new] }
    withAtomic(&isFollowedWord) { $0.store(1, ordering: .releasing) }
  }
}

/// The cached address of the main queue's object.
///
/// `nonisolated(unsafe)`: only accessed atomically.
@exclusivity(unchecked) nonisolated(unsafe) private var mainQueueWord: UInt64 = 0

/// Whether there is a follower.
///
/// `nonisolated(unsafe)`: only accessed atomically.
@exclusivity(unchecked) nonisolated(unsafe) private var isFollowedWord: UInt64 = 0

/// The cached address of the global queue's object.
///
/// `nonisolated(unsafe)`: only accessed atomically.
@exclusivity(unchecked) nonisolated(unsafe) private var globalQueueWord: UInt64 = 0
