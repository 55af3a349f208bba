import Pledge

/// The traces that are on.
///
/// Each event goes to all of them.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
enum RunningTraces {
  private struct State {
    var ofProcess: Trace?
    var scoped: [Trace] = []
    var all: [Trace] { scoped + [ofProcess].compactMap(\.self) }
  }

  private static let state = Mutex(State())

  /// How many there are, for a look without a lock.
  private static let count = Atomic<Int>(0)

  static var ofProcess: Trace? { isEmpty ? nil : state.withLock { $0.ofProcess } }

  /// Whether there is none; false only while one is added or removed if there is.
  static var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

  static var all: [Trace] { isEmpty ? [] : state.withLock { $0.all } }

  static func contains(_ trace: Trace) -> Bool {
    state.withLock { state in state.all.contains { $0 === trace } }
  }

  /// - Returns: The trace of the process whose place was taken.
  static func add(_ trace: Trace, isScoped: Bool) -> Trace? {
    state.withLock { state -> Trace? in
      defer { apply(state) }
      if isScoped {
        state.scoped.append(trace)
        return nil
      }
      return exchange(&state.ofProcess, with: trace)
    }
  }

  static func remove(_ trace: Trace) {
    state.withLock { state in
      state.scoped.removeAll { $0 === trace }
      if state.ofProcess === trace { state.ofProcess = nil }
      apply(state)
    }
  }

  /// Called under the lock, so that of two changes the later one is the last to set the tracer.
  ///
  /// What a trace holds of the program is not released here: the caller of both methods has it.
  private static func apply(_ state: State) {
    let traces = state.all
    count.store(traces.count, ordering: .relaxed)
    let claiming = traces.filter(\.claimsRejections)
    if claiming.isEmpty {
      PromiseDiagnostics.setClaim(nil)
    } else {
      PromiseDiagnostics.setClaim { rejection, id in
        for trace in claiming where trace.claim(rejection, id) { return true }
        return false
      }
    }
    guard !traces.isEmpty else { return PromiseDiagnostics.setTracer(nil) }
    PromiseDiagnostics.setTracer { event in for trace in traces { trace.record(event) } }
  }
}
