/// The state of a circuit breaker: pure bookkeeping that calls no other code.
///
/// Times are in nanoseconds since the breaker was created.
struct CircuitState {
  enum Phase: Equatable {
    case closed
    /// Open until this time; nil until it's closed by hand.
    case open(until: Int64?)
    case halfOpen
  }

  /// How a call is admitted.
  enum Admission: Equatable {
    case admitted(Int)
    /// Rejected; another call can be admitted after this time, nil only after `close()`.
    case rejected(Int64?)
  }

  private let openTime: Int64
  private let probeLimit: Int
  private var phase = Phase.closed
  private var window: CallWindow
  /// The number of calls that are admitted now, which changes with the phase, and when probes give their
  /// places back.
  private var era = 0
  /// The first number of the current phase: a call counts only in the one in which it was admitted.
  private var firstEra = 0
  private var pendingProbes = 0
  private var succeededProbes = 0
  private var lastProbe: Int64 = 0
  /// The changes that the observers haven't been told of, in order.
  private var changes: [CircuitBreaker.State] = []
  private var isTelling = false

  /// - Parameter openTime: Zero or more; the largest value is infinite.
  init(_ threshold: CircuitBreaker.Threshold, openTime: Int64, probes: Int) {
    window = CallWindow(threshold.kind)
    self.openTime = max(openTime, 0)
    probeLimit = max(probes, 1)
  }

  /// Whether reading the current state needs the time.
  var needsTime: Bool { phase != .closed }

  func state(at now: Int64) -> CircuitBreaker.State {
    switch phase {
    case .closed: .closed
    case .halfOpen: .halfOpen
    case .open(let end): end.map { now >= $0 } ?? false ? .halfOpen : .open
    }
  }

  // MARK: Calls

  /// Admits a call, without knowing the time, if the circuit is closed.
  func admitIfClosed() -> Int? { phase == .closed ? era : nil }

  mutating func admit(at now: Int64) -> Admission {
    switch phase {
    case .closed: return .admitted(era)
    case .open(let end):
      guard let end else { return .rejected(nil) }
      if now < end { return .rejected(end - now) }
      enter(.halfOpen)
    case .halfOpen:
      if pendingProbes + succeededProbes < probeLimit { break }
      // Probes that don't end would keep the circuit half-open forever, so that they give their
      // places back. Their results count nevertheless, or slow probes would never close it.
      guard let end = end(from: lastProbe) else { return .rejected(nil) }
      if openTime == 0 || now < end { return .rejected(max(end - now, 0)) }
      pendingProbes = 0
      era &+= 1
    }
    pendingProbes += 1
    lastProbe = now
    return .admitted(era)
  }

  /// Records the end of a call that was admitted in `era`.
  mutating func end(_ era: Int, _ outcome: CircuitOutcome, at now: Int64) {
    guard era >= firstEra else { return }
    if phase == .halfOpen, era == self.era { pendingProbes -= 1 }
    switch (phase, outcome) {
    case (_, .ignored), (.open, _): break
    case (.closed, _):
      if window.record(isFailure: outcome == .failure, at: now) {
        enter(.open(until: end(from: now)))
      }
    case (.halfOpen, .failure): enter(.open(until: end(from: now)))
    case (.halfOpen, .success):
      succeededProbes += 1
      if succeededProbes == probeLimit { enter(.closed) }
    }
  }

  mutating func open() { enter(.open(until: nil)) }

  mutating func close() { enter(.closed) }

  /// The end of the open phase that begins at `time`; nil if it doesn't end.
  private func end(from time: Int64) -> Int64? {
    let (end, overflow) = time.addingReportingOverflow(openTime)
    return overflow || end == .max ? nil : end
  }

  private mutating func enter(_ new: Phase) {
    let old = exchange(&phase, with: new)
    window.clear()
    era &+= 1
    firstEra = era
    pendingProbes = 0
    succeededProbes = 0
    switch (old, new) {
    case (.closed, .closed), (.open, .open), (.halfOpen, .halfOpen): break
    case (_, .closed): changes.append(.closed)
    case (_, .open): changes.append(.open)
    case (_, .halfOpen): changes.append(.halfOpen)
    }
  }

  // MARK: Observers

  /// Whether a thread must tell the observers of changes.
  var hasNews: Bool { !changes.isEmpty && !isTelling }

  /// Returns the next change, of which the calling thread must tell the observers before it asks
  /// again; nil if there is none, or another thread is telling them, so that they learn of the
  /// changes in order.
  mutating func nextChange(isFirst: Bool) -> CircuitBreaker.State? {
    if isFirst, isTelling { return nil }
    isTelling = !changes.isEmpty
    return changes.isEmpty ? nil : changes.removeFirst()
  }
}
