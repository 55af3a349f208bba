import Dispatch

/// The library's only access to Dispatch's queues.
enum Queues {
  private static let globalQueue = DispatchQueue.global()

  /// The global concurrent queue.
  static var global: DispatchQueue {
    cached(in: &globalQueueWord, globalQueue).takeUnretainedValue()
  }

  /// The main queue.
  static var main: DispatchQueue { DispatchQueue.main }

  @inline(__always)
  static func async(on queue: DispatchQueue, _ work: @escaping @Sendable () -> Void) {
    queue.async(execute: work)
  }

  @inline(__always)
  static func async(
    on queue: DispatchQueue, group: DispatchGroup?, flags: DispatchWorkItemFlags,
    _ work: @escaping @Sendable () -> Void
  ) {
    queue.async(group: group, flags: flags, execute: work)
  }
}

/// The cached address of the global queue's object.
///
/// `nonisolated(unsafe)`: only accessed atomically.
@exclusivity(unchecked) nonisolated(unsafe) private var globalQueueWord: UInt64 = 0
