import VirtualPlatform

/// Queues whose blocks are virtual threads.
package enum Queues {
  static var global: DispatchQueue { DispatchQueue.global() }
  static var main: DispatchQueue { DispatchQueue.main }
  static func isGlobal(_ queue: AnyObject) -> Bool { queue === global }
  static func serial(label: String) -> DispatchQueue { DispatchQueue(label: label) }
  static func async(on queue: DispatchQueue, _ work: @escaping @Sendable () -> Void) {
    queue.async(execute: work)
  }
  static func async(
    on queue: DispatchQueue, group: DispatchGroup?, flags: DispatchWorkItemFlags,
    _ work: @escaping @Sendable () -> Void
  ) { queue.async(group: group, flags: flags, execute: work) }
}
