import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Reports on promises that went wrong without anybody noticing.
public enum Diagnostics {
  /// Something that a program should have handled.
  public enum Event: Sendable {
    /// The last promise that was rejected with this error is gone, and nobody handled the error.
    ///
    /// `origin` is the place where the promise was made, where it is known.
    case unhandledRejection(any Error, origin: Origin?)
  }

  /// In a struct, since a bare closure gets one more thunk around it each time a generic type such
  /// as `Mutex` lends it out.
  private struct Hook { let call: @Sendable (Event) -> Void }

  private static let hook = Mutex<Hook?>(nil)

  /// Sends reports to `handler` instead of standard error; nil restores that.
  ///
  /// `handler` runs on whichever thread let go of the last reference, never under a lock. A
  /// cancellation (`CancellationError`) is not reported.
  public static func setHandler(_ handler: (@Sendable (Event) -> Void)?) {
    let old = hook.withLock { exchange(&$0, with: handler.map(Hook.init)) }
    // What it captured goes outside the lock.
    withExtendedLifetime(old) {}
  }

  /// Tells `tracer` all that happens to promises from now on; nil ends that, and makes it free.
  ///
  /// `tracer` runs on the thread on which a thing happens, in the midst of it: it must be quick and
  /// must not use promises. Events of one promise come in order, but for those of threads that meet
  /// there at that moment. For a tracer that keeps books see the module `PledgeDiagnostics`.
  public static func setTracer(_ tracer: (@Sendable (TraceEvent) -> Void)?) {
    Tracing.set(tracer)
  }

  static func report(_ event: Event) {
    if let handler = hook.withLock({ $0 }) {
      handler.call(event)
      return
    }
    let text = "Pledge: \(event)\n"
    // Standard error may be closed: there is nowhere else to tell.
    _ = text.utf8.withContiguousStorageIfAvailable { write(2, $0.baseAddress, $0.count) }
  }
}

extension Diagnostics.Event: CustomStringConvertible {
  /// The report as a sentence.
  public var description: String {
    switch self {
    case .unhandledRejection(let error, let origin):
      let place = origin.map { " (promise made at \($0))" } ?? ""
      return "unhandled rejection: \(error)\(place). End the chain with `catch` or `cauterize`."
    }
  }
}
