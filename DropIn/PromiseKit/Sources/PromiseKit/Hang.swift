import CoreFoundation
import Foundation
@_spi(DropIns) import Pledge

/// Runs the run loop of the current thread until `promise` is resolved, and returns the value or
/// throws the error.
///
/// Use it in tests and command-line tools. On Apple platforms, calling it on a thread other than
/// the main thread stops the program.
public func hang<T>(_ promise: Promise<T>) throws -> T {
  #if canImport(Darwin)
    guard Thread.isMainThread else { fatalError("Only call hang() on the main thread.") }
    let mode = CFRunLoopMode.defaultMode
  #else
    let mode = kCFRunLoopDefaultMode
  #endif
  if promise.isPending {
    // A run loop can be stopped from any thread.
    nonisolated(unsafe) let loop = CFRunLoopGetCurrent()
    // Without this source, the loop would have nothing to wait for and would end immediately.
    var context = CFRunLoopSourceContext()
    let source = CFRunLoopSourceCreate(nil, 0, &context)
    CFRunLoopAddSource(loop, source, mode)
    defer { CFRunLoopRemoveSource(loop, source, mode) }
    // If handlers in place are on the stack, those that the loop runs can be deferred, too.
    let activities = CFRunLoopActivity.beforeWaiting.rawValue
    let observer = CFRunLoopObserverCreate(
      nil, activities, true, 0, { _, _, _ in ImmediateExecutor.runDeferredHandlers() }, nil)
    CFRunLoopAddObserver(loop, observer, mode)
    defer { CFRunLoopRemoveObserver(loop, observer, mode) }
    _ = promise.ensure { CFRunLoopStop(loop) }
    while promise.isPending { CFRunLoopRun() }
  }
  switch promise.result {
  case .fulfilled(let value): return value
  case .rejected(let error): throw error
  case nil: fatalError("PromiseKit: a resolved promise is pending again")
  }
}
