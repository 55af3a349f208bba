import VirtualPlatform

/// The main thread is the one that runs the blocks of the main queue.
enum MainThread {
  static var isCurrent: Bool { DispatchQueue.main.isCurrent }
  static func isServed(by queue: DispatchQueue) -> Bool { queue === DispatchQueue.main }
}
