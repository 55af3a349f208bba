import VirtualPlatform

/// Queues whose blocks are virtual threads.
enum Queues {
  static var global: DispatchQueue { DispatchQueue.global() }
  static var main: DispatchQueue { DispatchQueue.main }
  static func async(on queue: DispatchQueue, _ work: @escaping @Sendable () -> Void) {
    queue.async(execute: work)
  }
  static func async(
    on queue: DispatchQueue, group: DispatchGroup?, flags: DispatchWorkItemFlags,
    _ work: @escaping @Sendable () -> Void
  ) { queue.async(group: group, flags: flags, execute: work) }
}
