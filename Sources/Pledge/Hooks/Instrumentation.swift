/// The tools that observe the engine, which cost one load of a flag while none is installed.
@usableFromInline
enum Instrumentation {
  static let tracing: UInt64 = 1
  /// The unit of the number of contexts that handlers capture, and the mask of that number.
  static let context: UInt64 = 2
  static let contexts: UInt64 = ~tracing

  /// The instruments that are installed.
  @inline(__always)
  static var flags: UInt64 { withAtomic(&instrumentationWord) { $0.load(ordering: .relaxed) } }

  @inline(__always)
  static var isTracing: Bool { flags & tracing != 0 }

  @inline(__always)
  static var capturesContext: Bool { flags & contexts != 0 }

  /// Changes `hook`, and the flag that says whether it is installed.
  static func install<Hook: Sendable>(
    _ hook: Hook?, in storage: borrowing Mutex<Hook?>, flag: UInt64
  ) {
    let old = storage.withLock { stored in
      if (stored == nil) != (hook == nil) { add(hook == nil ? 0 &- flag : flag) }
      return exchange(&stored, with: hook)
    }
    // The objects that it captured are released outside the lock.
    withExtendedLifetime(old) {}
  }

  /// Adds `change` to the word of the flags, modulo 2⁶⁴.
  static func add(_ change: UInt64) {
    withAtomic(&instrumentationWord) { word in
      _ = word.wrappingAdd(change, ordering: .acquiringAndReleasing)
    }
  }
}

/// The flags of the instruments that are installed.
///
/// `nonisolated(unsafe)`: only accessed atomically.
@exclusivity(unchecked) nonisolated(unsafe) private var instrumentationWord: UInt64 = 0
