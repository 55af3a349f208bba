import Synchronization

// The engine: a promise's cell, its states and who may do what in each.
//
//                      ┌────────────┐ claim()  ┌─────────┐ publish() ┌─────────┐
//   init ─────────────▶│  pending   │─────────▶│ claimed │──────────▶│ settled │
//                      └────────────┘          └─────────┘           └─────────┘
//                            │ link, while nobody has observed
//                            ├─────────────────────▶ linked: every later act goes to the root
//                            │ abandon()
//                            └─────────────────────▶ abandoned: linked to nothing, stays pending
//
// `output` is one atomic word that holds the state and, beside it, a pointer: to the newest
// observer (observers form a stack through `Handler.next`), or to the cell that this one is
// linked to.
//
// - pending: anyone may push an observer, claim, link.
// - claimed: one thread has won the right to settle. It alone writes the result. Observers may
//   still be pushed.
// - settled: the result is there to be read by anyone, for ever. Never left again.
// - linked: the cell was returned from a handler of another promise and shares that promise's
//   fate. Links go from inner to outer, so a recursive chain keeps one root and frees the rest.
// - abandoned: nobody will ever settle the cell, on purpose. Whatever waits is dropped.
// - `owned` (a flag beside any state): one thread works on the list of observers. Who
//   settles meanwhile leaves the delivery to it; who attaches meanwhile pushes, and the owner
//   takes it along. So observers are delivered in the order in which they were attached, also
//   while the cell settles.
//
// `input` is the side that feeds the cell: flags and the number of consumers. `slot` holds what
// the cell waits for (a `Cell` or a `CancelHandlers`) and, once settled, its `Rejection` if any.
//
// - pinned: a short lock on `slot`, for the few instructions that read or swap it. Who holds two
//   pins at once took that of the root first.
// - taken: `slot` belongs to the handler that runs, or to the one who settles. Whoever sets this
//   flag first runs the handler; so it runs once.
//
// No user code runs in between: a transition decides, the caller acts afterwards.

/// The part of a promise that knows nothing of its value's type.
///
/// `@unchecked Sendable`: `output` and `input` are atomic; `slot` is guarded by the flags
/// `pinned` and `taken` of `input`, and is immutable once the cell is settled; the value in a
/// subclass is written by the one thread that claimed the cell, before `publish` releases it.
@usableFromInline
class Cell: @unchecked Sendable {
  @usableFromInline let output: Atomic<UInt>
  @usableFromInline let input: Atomic<UInt64>
  @exclusivity(unchecked) @usableFromInline final var slot: AnyObject?

  @inlinable
  init(input: UInt64, slot: AnyObject?) {
    self.output = Atomic(0)
    self.input = Atomic(input | Input.consumer)
    self.slot = slot
  }

  /// Makes a cell that is born settled.
  @inlinable
  init(settled rejection: Rejection?) {
    self.output = Atomic(Output.settled)
    self.input = Atomic(Input.taken)
    self.slot = rejection
  }

  deinit {
    Tracing.note(self, .released)
    let word = output.load(ordering: .relaxed)
    guard let address = Output.pointer(word) else { return }
    if word & Output.linked != 0 {
      // The strong reference that `link` took.
      ReleaseQueue.release(Unmanaged<Cell>.fromOpaque(address))
    } else {
      // Observers that wait hold their source; these have turned away.
      HandlerList.release(HandlerList.Node.fromOpaque(address))
    }
  }

  /// The flags in the low bits of `output`.
  ///
  /// The rest is a pointer. Objects lie at multiples of 16.
  @usableFromInline
  enum Output {
    @usableFromInline static let claimed: UInt = 1
    @usableFromInline static let settled: UInt = 2
    static let owned: UInt = 4
    static let linked: UInt = 8
    static let mask: UInt = 15

    @inline(__always)
    static func pointer(_ word: UInt) -> UnsafeMutableRawPointer? {
      UnsafeMutableRawPointer(bitPattern: word & ~mask)
    }

    static func isLinked(_ word: UInt) -> Bool { word & linked != 0 && pointer(word) != nil }
    static func isAbandoned(_ word: UInt) -> Bool { word & linked != 0 && pointer(word) == nil }
  }

  /// The flags in the low bits of `input`; above them two counts of 24 bits each.
  @usableFromInline
  enum Input {
    /// `slot` is being read or swapped.
    static let pinned: UInt64 = 1 << 0
    /// The handler, or the settlement, owns `slot`.
    @usableFromInline static let taken: UInt64 = 1 << 1
    /// Somebody asked for cancellation.
    @usableFromInline static let cancelled: UInt64 = 1 << 2
    /// The cell is a `Handler`.
    @usableFromInline static let handler: UInt64 = 1 << 3
    /// The handler wants to see a fulfilled source.
    @usableFromInline static let wantsValue: UInt64 = 1 << 4
    /// The handler wants to see a rejected source.
    @usableFromInline static let wantsRejection: UInt64 = 1 << 5
    /// The handler's target is a `DispatchQueue`, not a `Scheduler`.
    @usableFromInline static let queueTarget: UInt64 = 1 << 6
    /// The handler was withdrawn from the list of its source, where it still stands.
    static let detached: UInt64 = 1 << 7
    /// The handler was attached through a link: see `Cell.cancel()`.
    static let viaLink: UInt64 = 1 << 8
    /// Someone observes this cell through a cell that is linked to it.
    static let shared: UInt64 = 1 << 9
    /// Cancellation stops here and does not climb to the source.
    @usableFromInline static let shield: UInt64 = 1 << 10
    /// The promise of this cell was cancelled by name, and goes on for those who observe it through
    /// a link: who comes to the cell itself finds `Cancellation.source` in its place.
    @usableFromInline static let disowned: UInt64 = 1 << 11
    /// A combinator has let go of this cell and wants it to go on: it counts as consumed, and its
    /// rejection as handled.
    static let kept: UInt64 = 1 << 12

    /// One consumer: an observer that has not withdrawn.
    ///
    /// A cell is made with one: the first observer finds itself counted already, and needs no step
    /// of its own for it.
    @usableFromInline static let consumer: UInt64 = 1 << 16
    /// One observer that has withdrawn and still stands in the list.
    static let dead: UInt64 = 1 << 40

    static func consumers(_ word: UInt64) -> Int { Int((word >> 16) & 0xFF_FFFF) }
    /// Whether those who observed the cell have all withdrawn, and nobody keeps it.
    ///
    /// Not so while nobody has observed it yet: see `consumer`.
    static func isDeserted(_ word: UInt64) -> Bool { consumers(word) == 0 && word & kept == 0 }
    static func deadObservers(_ word: UInt64) -> Int { Int(word >> 40) }
  }
}

// MARK: - Reading

extension Cell {
  /// The cell whose fate this one shares.
  @inlinable
  final var root: Cell {
    if output.load(ordering: .acquiring) & 8 == 0 { return self }
    return followLinks()
  }

  @usableFromInline
  final func followLinks() -> Cell {
    var cell = self
    while true {
      let word = cell.output.load(ordering: .acquiring)
      guard Output.isLinked(word), let address = Output.pointer(word) else { return cell }
      // A link, once made, stays, and the linked cell holds its target.
      cell = Unmanaged<Cell>.fromOpaque(address).takeUnretainedValue()
    }
  }

  /// Whether the result can be read.
  ///
  /// Asked of a root only.
  @inlinable
  final var isSettledRoot: Bool {
    output.load(ordering: .acquiring) & Output.settled != 0
  }

  /// Why the cell was rejected, or nil.
  ///
  /// Asked of a settled root only.
  @inlinable
  final var rejection: Rejection? {
    guard let slot else { return nil }
    return unsafeDowncast(slot, to: Rejection.self)
  }

  /// Whether the cell was rejected.
  ///
  /// Asked of a settled root only.
  final var isRejected: Bool { slot != nil }

  /// The cell that a holder of this one's promise shall read: its root, or a cancelled cell if the
  /// promise was cancelled by name and its root is not.
  @inlinable
  final var visibleRoot: Cell {
    let root = self.root
    if root !== self || input.load(ordering: .acquiring) & Input.disowned == 0 { return root }
    return Cancellation.source
  }

  @inlinable
  final var isHandler: Bool {
    input.load(ordering: .relaxed) & Input.handler != 0
  }
}

// MARK: - Settling

/// How the attempt to settle a cell began.
@usableFromInline
enum Claim {
  /// The caller has to write the result and publish it.
  case won
  /// Somebody else settles it, or has.
  case lost
  /// The cell's root is to be settled in its place.
  case linked
}

extension Cell {
  /// Wins the right to settle this very cell.
  @usableFromInline
  final func claim() -> Claim {
    var word = output.load(ordering: .acquiring)
    while true {
      if word & Output.linked != 0 { return Output.pointer(word) == nil ? .lost : .linked }
      if word & (Output.claimed | Output.settled) != 0 { return .lost }
      let (won, now) = output.weakCompareExchange(
        expected: word, desired: word | Output.claimed, ordering: .acquiringAndReleasing)
      if won { return .won }
      word = now
    }
  }

  /// Makes the result of this cell visible and hands its observers to their executors.
  ///
  /// The caller has claimed the cell, or is its handler and nobody else can settle it.
  ///
  /// - Returns: Whether that was done; not if the unclaimed cell was linked or abandoned meanwhile.
  @usableFromInline @discardableResult
  final func publish(_ rejection: Rejection? = nil) -> Bool {
    // Asked here, as that of a handler is taken: it saves a call a link.
    let isTaken = input.load(ordering: .acquiring) & Input.taken != 0
    let source = isTaken ? nil : takeSlot()
    if let rejection { slot = rejection }
    var word = output.load(ordering: .acquiring)
    // A tracer is told before anybody can see it; where nobody has claimed the cell, it may still be
    // linked instead, and is told after that.
    let isClaimed = word & Output.claimed != 0
    if isClaimed { Tracing.note(self, .settled(rejection?.traced)) }
    while true {
      if word & Output.linked != 0 {
        slot = nil
        return false
      }
      let isOwned = word & Output.owned != 0
      let list = Output.pointer(word)
      let next: UInt
      if isOwned {
        next = (word & ~Output.claimed) | Output.settled
      } else {
        next = Output.settled | (list == nil ? 0 : Output.owned)
      }
      let (done, now) = output.weakCompareExchange(
        expected: word, desired: next, ordering: .acquiringAndReleasing)
      if done {
        if !isClaimed { Tracing.note(self, .settled(rejection?.traced)) }
        if let rejection { markHandledIfKept(rejection) }
        if !isOwned, let list { deliverAll(from: list) }
        break
      }
      word = now
    }
    // What the cell waited for may run a `deinit` of the user's: last, with nothing half done.
    if let source { withExtendedLifetime(source) {} }
    return true
  }

  /// The counterpart of `keep()`.
  ///
  /// Both first write their own word and then ask for the other's. Both go through `input` with a
  /// read-modify-write, so the later one sees the earlier one.
  private final func markHandledIfKept(_ rejection: Rejection) {
    let flags = input.bitwiseOr(0, ordering: .acquiringAndReleasing).oldValue
    if flags & Input.kept != 0 { rejection.markHandled() }
  }

  /// Rejects this cell's root, unless it is settled already.
  @usableFromInline @discardableResult
  final func reject(_ rejection: Rejection) -> Bool {
    // Whoever has cancelled does not wait for an error.
    if input.load(ordering: .relaxed) & Input.cancelled != 0 { rejection.markHandled() }
    switch claim() {
    case .lost:
      // Late settlements are ignored, so this error is nobody's business any more.
      rejection.markHandled()
      return false
    case .won:
      publish(rejection)
      return true
    case .linked:
      guard root.reject(rejection) else { return false }
      dropInput()
      return true
    }
  }

  /// Lets go of what this cell waited for, once the root it is linked to has settled.
  @usableFromInline
  final func dropInput() {
    withExtendedLifetime(takeSlot()) {}
  }
}

// MARK: - The slot

extension Cell {
  /// Takes over `slot` for good; returns nil also when somebody else has it.
  final func takeSlot() -> AnyObject? { takeSlotUncounted()?.takeRetainedValue() }

  /// As `takeSlot()`; the caller has to release what it gets.
  @inline(__always)
  final func takeSlotUncounted() -> Unmanaged<AnyObject>? {
    if input.load(ordering: .acquiring) & Input.taken != 0 { return nil }
    let (old, _) = input.bitwiseOr(Input.taken, ordering: .acquiringAndReleasing)
    if old & Input.taken != 0 { return nil }
    if old & Input.pinned != 0 { waitForUnpin() }
    // Moved out bit by bit: that counts no reference.
    return withUnsafeMutableBytes(of: &slot) { bits in
      let object = bits.load(as: UnsafeRawPointer?.self)
      bits.storeBytes(of: nil, as: UnsafeRawPointer?.self)
      return object.map { Unmanaged.fromOpaque($0) }
    }
  }

  final func waitForUnpin() {
    var backoff = Backoff()
    while input.load(ordering: .acquiring) & Input.pinned != 0 { backoff.wait() }
  }

  /// Pins `slot` unless it is taken; on true the caller must `unpin()`.
  final func pinUnlessTaken() -> Bool {
    var backoff = Backoff()
    var word = input.load(ordering: .acquiring)
    while true {
      if word & Input.taken != 0 { return false }
      if word & Input.pinned != 0 {
        backoff.wait()
        word = input.load(ordering: .acquiring)
        continue
      }
      let (won, now) = input.weakCompareExchange(
        expected: word, desired: word | Input.pinned, ordering: .acquiringAndReleasing)
      if won { return true }
      word = now
    }
  }

  final func unpin() {
    input.bitwiseAnd(~Input.pinned, ordering: .releasing)
  }
}
