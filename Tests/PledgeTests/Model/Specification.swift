// A specification of promises, without threads, memory, or optimizations.
//
// An act of the program (`perform`) changes the state immediately and leaves work behind: handlers
// to start, results to pass on, and cancellations to propagate. With several threads, the work can
// run in any order, and interleaved with other acts. A single thread completes all of it before its
// next act.

/// The states of a few promises of `Int`.
struct Specification: Hashable {
  enum Outcome: Hashable {
    case fulfilled(Int)
    case rejected(Int)
    case broken
    case cancelled
  }

  /// What a handler does with the result that it receives.
  enum Kind: Hashable {
    /// Records it and passes it on.
    case tap
    /// Returns another promise instead of a value.
    case then(Int)
    /// Replaces an error with the value 9.
    case recover
  }

  enum Work: Hashable {
    case start(Int)
    case finish(Int, with: Outcome)
    case cancel(Int)
    case detach(Int)
    case breakPromise(Int)
  }

  struct Node: Hashable {
    /// Nil for a promise that a resolver settles.
    var kind: Kind?
    var outcome: Outcome?
    /// The promise that it waits for, if any.
    var source: Int?
    /// Its observers, in order.
    var observers: [Int] = []
    var isCancelled = false
    /// It was removed from its source, and receives a cancellation.
    var isDetached = false
    /// Its handler has been called; now it only takes on the result of the returned promise.
    var isAdopting = false
    var cancellationsTold = 0
  }

  struct Tap: Hashable {
    var promise: Int
    var source: Int
    var outcome: Outcome
  }

  private(set) var nodes: [Int: Node] = [:]
  private(set) var taps: [Tap] = []
  private(set) var work: [Work] = []

  private subscript(promise: Int) -> Node {
    get { nodes[promise, default: Node()] }
    set { nodes[promise] = newValue }
  }

  // MARK: Acts

  mutating func make(_ promise: Int) { nodes[promise] = Node() }

  /// Calls an operator on `source`.
  mutating func derive(_ promise: Int, from source: Int, _ kind: Kind) {
    nodes[promise] = Node(kind: kind)
    attach(promise, to: source)
  }

  /// Settles `promise`; returns whether this act settled it.
  @discardableResult
  mutating func settle(_ promise: Int, _ outcome: Outcome) -> Bool {
    guard self[promise].outcome == nil else { return false }
    self[promise].outcome = outcome
    work += self[promise].observers.map { .start($0) }
    self[promise].observers = []
    return true
  }

  /// Drops a reference to the resolver of `promise`.
  ///
  /// The promise is rejected later: a thread that is calling the resolver retains it until the call
  /// returns.
  mutating func drop(_ promise: Int) { work.append(.breakPromise(promise)) }

  mutating func cancel(_ promise: Int) {
    guard self[promise].outcome == nil else { return }
    let wasCancelled = self[promise].isCancelled
    self[promise].isCancelled = true
    guard self[promise].kind != nil else {
      // The producer is notified, and can settle the promise before the rejection starts here.
      if wasCancelled { return }
      self[promise].cancellationsTold += 1
      work.append(.finish(promise, with: .cancelled))
      return
    }
    guard let source = self[promise].source else { return }  // The handler runs.
    if self[source].outcome != nil {
      work.append(.detach(promise))
    } else if !wasCancelled {
      let isWanted = self[source].observers.contains { $0 != promise && !self[$0].isCancelled }
      work.append(isWanted ? .detach(promise) : .cancel(source))
    }
  }

  // MARK: Effects

  mutating func carryOut(_ index: Int) {
    switch work.remove(at: index) {
    case .start(let handler): start(handler)
    case .finish(let handler, let outcome):
      let isLate = self[handler].isCancelled && outcome.isFulfilled
      settle(handler, isLate ? .cancelled : outcome)
    case .cancel(let promise): cancel(promise)
    case .detach(let handler): detach(handler)
    case .breakPromise(let promise): settle(promise, .broken)
    }
  }

  private mutating func attach(_ handler: Int, to source: Int) {
    self[handler].source = source
    if self[source].outcome != nil {
      work.append(.start(handler))
    } else {
      self[source].observers.append(handler)
    }
  }

  private mutating func start(_ handler: Int) {
    // If it was delivered twice, the first delivery counts.
    guard let source = self[handler].source,
      let outcome = self[handler].isDetached ? .cancelled : self[source].outcome,
      let kind = self[handler].kind
    else { return }
    self[handler].source = nil
    if self[handler].isAdopting {
      settle(handler, outcome)
      return
    }
    switch kind {
    case .tap:
      taps.append(Tap(promise: handler, source: source, outcome: outcome))
      work.append(.finish(handler, with: outcome))
    case .recover:
      work.append(.finish(handler, with: outcome.isFulfilled ? outcome : .fulfilled(9)))
    case .then(let inner):
      guard outcome.isFulfilled else {
        work.append(.finish(handler, with: outcome))
        return
      }
      if self[handler].isCancelled {
        // The returned promise is cancelled, too, unless it has another consumer.
        if self[inner].observers.isEmpty { work.append(.cancel(inner)) }
        work.append(.finish(handler, with: .cancelled))
        return
      }
      self[handler].isAdopting = true
      attach(handler, to: inner)
    }
  }

  private mutating func detach(_ handler: Int) {
    guard let source = self[handler].source, !self[handler].isDetached else { return }
    self[handler].isDetached = true
    self[source].observers.removeAll { $0 == handler }
    work.append(.start(handler))
  }
}

extension Specification.Outcome {
  var isFulfilled: Bool { if case .fulfilled = self { true } else { false } }
}
