/// The tools that observe the engine, which cost one load of a flag while none is installed.
@usableFromInline
enum Instrumentation {
  static let tracing: UInt64 = 1
  static let context: UInt64 = 2

  /// The instruments that are installed.
  @inline(__always)
  static var flags: UInt64 { withAtomic(&instrumentationWord) { $0.load(ordering: .relaxed) } }

  @inline(__always)
  static var isTracing: Bool { flags & tracing != 0 }

  @inline(__always)
  static var capturesContext: Bool { flags & context != 0 }

  /// Changes `hook`, and the flag that says whether it is installed.
  static func install<Hook: Sendable>(
    _ hook: Hook?, in storage: borrowing Mutex<Hook?>, flag: UInt64
  ) {
    let old = storage.withLock { stored in
      if (stored == nil) != (hook == nil) {
        withAtomic(&instrumentationWord) { word in
          _ = word.wrappingAdd(hook == nil ? 0 &- flag : flag, ordering: .acquiringAndReleasing)
        }
      }
      return exchange(&stored, with: hook)
    }
    // The objects that it captured are released outside the lock.
    withExtendedLifetime(old) {}
  }
}

// MARK: - Context

extension Instrumentation {
  /// A function that calls its argument in a context that was captured earlier.
  typealias Restoring = @Sendable (() -> Void) -> Void

  /// A struct, because a closure that is used directly as a generic argument needs one more thunk
  /// at each access.
  private struct Capture: Sendable {
    let call: @Sendable () -> Restoring?
  }

  private static let capture = Mutex<Capture?>(nil)

  /// Installs `capture`, which is called when a handler is created; the function that it returns is
  /// called around the handler.
  static func setContextCapture(_ capture: @escaping @Sendable () -> Restoring?) {
    install(Capture(call: capture), in: self.capture, flag: context)
  }

  /// The current context, as a function that restores it while it calls its argument.
  static func snapshot() -> Restoring? {
    guard capturesContext else { return nil }
    return capture.withLock { $0 }?.call()
  }
}

/// The flags of the instruments that are installed.
///
/// `nonisolated(unsafe)`: only accessed atomically.
@exclusivity(unchecked) nonisolated(unsafe) private var instrumentationWord: UInt64 = 0
