import CoreFoundation
import Foundation

/// Runs the run loop of the current thread until `promise` is resolved; returns the value or throws
/// the error.
///
/// For tests and command line tools. Off the main thread this stops the program on Apple platforms.
public func hang<T>(_ promise: Promise<T>) throws -> T {
  #if canImport(Darwin)
    guard Thread.isMainThread else { fatalError("Only call hang() on the main thread.") }
    let mode = CFRunLoopMode.defaultMode
  #else
    let mode = kCFRunLoopDefaultMode
  #endif
  if promise.isPending {
    // A run loop may be stopped from any thread.
    nonisolated(unsafe) let loop = CFRunLoopGetCurrent()
    // Keeps the loop from ending at once for want of anything to wait for.
    var context = CFRunLoopSourceContext()
    let source = CFRunLoopSourceCreate(nil, 0, &context)
    CFRunLoopAddSource(loop, source, mode)
    defer { CFRunLoopRemoveSource(loop, source, mode) }
    _ = promise.ensure { CFRunLoopStop(loop) }
    while promise.isPending { CFRunLoopRun() }
  }
  switch promise.result {
  case .fulfilled(let value): return value
  case .rejected(let error): throw error
  case nil: fatalError("PromiseKit: a resolved promise is pending again")
  }
}
