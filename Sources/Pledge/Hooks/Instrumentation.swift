/// The tools that observe the engine, which cost one load of a flag while none is installed.
@usableFromInline
enum Instrumentation {
  /// The number of contexts that handlers capture.
  @inline(__always)
  static var contextCount: UInt64 { withAtomic(&contextCountWord) { $0.load(ordering: .relaxed) } }

  @inline(__always)
  static var capturesContext: Bool { contextCount != 0 }

  static func addContext() {
    withAtomic(&contextCountWord) { _ = $0.wrappingAdd(1, ordering: .acquiringAndReleasing) }
  }
}

/// The number of contexts that handlers capture.
///
/// `nonisolated(unsafe)`: only accessed atomically.
@exclusivity(unchecked) nonisolated(unsafe) private var contextCountWord: UInt64 = 0
