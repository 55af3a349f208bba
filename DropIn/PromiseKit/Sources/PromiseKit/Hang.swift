import Foundation

/// Runs the run loop of the current thread until `promise` is resolved; returns the value or throws
/// the error.
///
/// For tests and command line tools. Off the main thread this stops the program on Apple platforms.
public func hang<T>(_ promise: Promise<T>) throws -> T {
  #if canImport(Darwin)
    guard Thread.isMainThread else { fatalError("Only call hang() on the main thread.") }
  #endif
  if promise.isPending {
    let loop = RunLoopWaker()
    _ = promise.ensure { loop.stop() }
    loop.run { promise.isPending }
  }
  switch promise.result {
  case .fulfilled(let value): return value
  case .rejected(let error): throw error
  case nil: fatalError("PromiseKit: the run loop ended before the promise was resolved")
  }
}

/// A run loop that is kept running, and can be told to look at its condition again.
private final class RunLoopWaker: @unchecked Sendable {
  // `CFRunLoopStop` may be called from any thread; the port is added and removed by one.
  private let loop = RunLoop.current
  private let port = Port()

  func run(while condition: () -> Bool) {
    loop.add(port, forMode: .default)
    defer { loop.remove(port, forMode: .default) }
    while condition() {
      _ = loop.run(mode: .default, before: Date(timeIntervalSinceNow: 0.01))
    }
  }

  func stop() {}
}
