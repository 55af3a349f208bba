/// The attempts of one call of `hedged` so far: pure bookkeeping, which the forms for promises and
/// for asynchronous functions share.
///
/// A `Failure` is what the result is rejected with.
struct HedgeProgress<Failure> {
  /// What follows an event.
  enum Next {
    /// The attempt with this number starts; one that is another request for the service needs a token
    /// of the budget, and doesn't start without it.
    case start(Int, needsToken: Bool)
    /// The result of another attempt decides.
    case wait
    /// No attempt can succeed anymore; nil if none has failed, because all were abandoned.
    case fail(Failure?)
  }

  private var limit: Int
  private var startedCount = 0
  private var pendingCount = 0
  /// Whether no delay has passed without a value.
  private(set) var isInTime = true
  /// The failure of the attempt with the lowest number.
  private var first: (number: Int, failure: Failure)?

  init(_ hedging: Hedging) { limit = hedging.attempts }

  /// Whether there can be further attempts.
  private var canStart: Bool { startedCount < limit }

  /// Whether the next attempt starts when the delay after this one has passed.
  func waits(after number: Int) -> Bool { number == startedCount && canStart }

  mutating func start(needsToken: Bool = false) -> Next {
    startedCount += 1
    pendingCount += 1
    return .start(startedCount, needsToken: needsToken)
  }

  /// Records that the attempt with this number failed.
  mutating func fail(_ number: Int, _ error: any Error, _ failure: Failure) -> Next {
    pendingCount -= 1
    if first.map({ number < $0.number }) ?? true { first = (number, failure) }
    // A cancelled attempt doesn't start the next one: usually, all of them are being cancelled.
    guard canStart, !(error is CancellationError) else { return rest }
    // An attempt that was rejected locally has sent nothing.
    return start(needsToken: !error.isLocalRejection)
  }

  /// Records that an attempt was abandoned; the next one starts after the delay.
  mutating func abandon() -> Next {
    pendingCount -= 1
    return canStart ? .wait : rest
  }

  /// Records that the delay after an attempt has passed.
  mutating func pass(after number: Int) -> Next {
    guard number == startedCount else { return .wait }
    isInTime = false
    return canStart ? start(needsToken: true) : .wait
  }

  /// Records that the attempt that was to start doesn't, and that no other one starts.
  mutating func stop() -> Next {
    pendingCount -= 1
    limit = 0
    return rest
  }

  private var rest: Next { pendingCount == 0 ? .fail(first?.failure) : .wait }
}

extension Hedging {
  /// Returns whether the budget allows an attempt, which is then counted if it isn't the first.
  func admits(_ number: Int, needsToken: Bool) -> Bool {
    if needsToken, let budget, !budget.withdraw() { return false }
    if number > 1 { Monitoring.policies.note(.hedged) }
    return true
  }

  /// Records the value of a call.
  func noteValue(isInTime: Bool) {
    // A service that is slow as a whole must not pay for hedges, which would make it even slower.
    if isInTime { budget?.deposit() }
  }

  func observe<Failure>(
    _ number: Int, _ error: any Error, _ next: HedgeProgress<Failure>.Next
  ) {
    guard let observer, !(error is CancellationError) else { return }
    let pause: TimeSpan? = if case .start = next { .zero } else { nil }
    observer(FailedAttempt(number: number, error: error, pause: pause))
  }
}

/// One call of `Promise.hedged`.
///
/// It isn't generic: in the methods of a generic type, each step looks up the metadata of its types.
final class HedgeRun: Sendable {
  private typealias Next = HedgeProgress<Rejection>.Next

  private struct State {
    var progress: HedgeProgress<Rejection>
    /// The observers of the attempts in progress, by number; nil until one is attached.
    var pending: [Int: Handler?] = [:]
    var timer: (AnyObject & Sendable)?
    var isOver = false
  }

  private let hedging: Hedging
  private let time: TimeSource
  private let operation: @Sendable () -> Cell
  private let result: Cell
  private let succeed: @Sendable (Cell) -> Void
  private let state: Mutex<State>
  /// That of the call, which attempts after the first don't inherit from a timer.
  private let context = Instrumentation.snapshot()

  /// Creates a run that settles `result`.
  ///
  /// - Parameters:
  ///   - operation: Starts an attempt, and returns the cell of its promise.
  ///   - succeed: Fulfills `result` with the value of a cell.
  init(
    _ hedging: Hedging, _ time: TimeSource, _ result: Cell,
    operation: @escaping @Sendable () -> Cell, succeed: @escaping @Sendable (Cell) -> Void
  ) {
    self.hedging = hedging
    self.time = time
    self.result = result
    self.operation = operation
    self.succeed = succeed
    state = Mutex(State(progress: HedgeProgress(hedging)))
  }

  func start() {
    result.noteCreation(nil)
    result.onCancel { self.end() }
    proceed(record { $0.start() })
  }

  /// Records an event, and returns what follows it.
  private func record(_ event: (inout HedgeProgress<Rejection>) -> Next) -> Next {
    state.withLock { $0.isOver ? .wait : event(&$0.progress) }
  }

  private func proceed(_ next: Next) {
    var next = next
    while true {
      switch next {
      case .wait: return
      case .start(let number, let needsToken):
        if hedging.admits(number, needsToken: needsToken) { return attempt(number) }
        next = record { $0.stop() }
      case .fail(let rejection):
        guard end() else { return }
        if let rejection { result.reject(rejection.passedOn()) } else { result.abandon() }
        return
      }
    }
  }

  private func attempt(_ number: Int) {
    let work = context?.call(operation) ?? operation()
    let observer = Handler(.observer, of: work, on: .inPlace, body: nil) { [self] _, source in
      receive(source, number)
    }
    if Instrumentation.isTracing { observer.noteObserving(for: result) }
    let isExpected = state.withLock { state in
      if !state.isOver { state.pending[number] = .some(nil) }
      return !state.isOver
    }
    guard isExpected else {
      work.discard()
      return
    }
    // Attached first, because an observer can be removed only after it is attached.
    work.attach(observer)
    let isOver = state.withLock { state in
      if state.pending.keys.contains(number) { state.pending[number] = observer }
      return state.isOver
    }
    if isOver {
      observer.leave(.cancelled)
      return
    }
    guard state.withLock({ $0.progress.waits(after: number) }) else { return }
    let timer = time.startTimer(after: hedging.delay) { [self] in
      // The operation is user code.
      self.proceed(self.record { $0.pass(after: number) })
    }
    let old = state.withLock { state in
      !state.isOver && state.progress.waits(after: number)
        ? exchange(&state.timer, with: timer) : timer
    }
    withExtendedLifetime(old) {}
  }

  private func receive(_ source: Cell, _ number: Int) {
    let isInTime = state.withLock { state in
      state.pending[number] = nil
      return state.progress.isInTime
    }
    guard let rejection = source.rejection else {
      // First the other attempts, because code that receives the value can rely on their
      // cancellation.
      guard end() else { return }
      hedging.noteValue(isInTime: isInTime)
      return succeed(source)
    }
    rejection.markHandled()
    if rejection.isAbandonment { return proceed(record { $0.abandon() }) }
    let next = record { $0.fail(number, rejection.error, rejection) }
    hedging.observe(number, rejection.error, next)
    proceed(next)
  }

  /// Cancels the attempts in progress, and the timer; returns whether this is the first call.
  @discardableResult
  private func end() -> Bool {
    let rest = state.withLock { exchange(&$0, with: State(progress: $0.progress, isOver: true)) }
    withExtendedLifetime(rest.timer) {}
    for (_, observer) in rest.pending.sorted(by: { $0.key < $1.key }) {
      observer?.leave(.cancelled)
    }
    return !rest.isOver
  }
}
