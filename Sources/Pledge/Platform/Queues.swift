import Dispatch

/// The library's only access to Dispatch's queues.
enum Queues {
  private static let globalQueue = DispatchQueue.global()

  /// The global concurrent queue.
  static var global: DispatchQueue {
    cached(in: &globalQueueWord, globalQueue).takeUnretainedValue()
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

/// The cached address of the main queue's object.
///
/// `nonisolated(unsafe)`: only accessed atomically.
@exclusivity(unchecked) nonisolated(unsafe) private var mainQueueWord: UInt64 = 0

/// The cached address of the global queue's object.
///
/// `nonisolated(unsafe)`: only accessed atomically.
@exclusivity(unchecked) nonisolated(unsafe) private var globalQueueWord: UInt64 = 0
