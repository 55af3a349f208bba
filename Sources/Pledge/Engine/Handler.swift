import Synchronization

/// A cell that is fed by a handler: at once the promise an operator returns and the observer that
/// waits in the list of the promise it was called on.
///
/// One object a link.
///
/// `target` is held by hand, so that reading it counts no reference; `deinit` lets go of it.
/// `run` and `body` stand for one generic closure each: `run` is a closure without captures that
/// knows the types, `body` the user's closure with its type erased. `next` belongs to the list
/// of the source; `body` to whoever set the flag `taken`.
@usableFromInline
class Handler: Cell, @unchecked Sendable {
  @exclusivity(unchecked) @usableFromInline final var next: Unmanaged<Handler>?
  @usableFromInline final let target: Unmanaged<AnyObject>?
  @usableFromInline final let run: @Sendable (Handler, Cell) -> Void
  @exclusivity(unchecked) @usableFromInline final var body: ErasedClosure?

  @inlinable
  init(
    input: UInt64, source: Cell, target: AnyObject?, body: ErasedClosure?,
    run: @escaping @Sendable (Handler, Cell) -> Void
  ) {
    self.next = nil
    self.target = target.map { Unmanaged.passRetained($0) }
    if Hooks.flags & Hooks.taskLocals == 0 || body == nil {
      self.run = run
    } else {
      // Without a closure of the user's there would be nobody to look at them.
      self.run = TaskLocals.capturing(run)
    }
    self.body = body
    super.init(input: input | Input.handler, slot: source)
  }

  deinit { target?.release() }

  /// Runs the handler, once: later calls, and calls after another took it over, do nothing.
  ///
  /// `isInPlace` says that this may not be the handler's executor; `isOwned` is as in `deliver`.
  final func perform(
    _ state: UnsafeMutablePointer<ThreadState> = ThreadState.current, isInPlace: Bool = false,
    isOwned: Bool = false
  ) {
    guard let source = takeSlotUncounted() else { return }
    if isInPlace, target != nil, isCancelledAndWantsToKnow {
      // It was let pass a value that does not concern it, and was cancelled on the way: a
      // rejection does concern it, and is for its executor.
      slot = source.takeRetainedValue()
      input.bitwiseAnd(~Input.taken, ordering: .acquiringAndReleasing)
      deliver(self, rejected: true)
      return
    }
    if state.pointee.turn.follower != nil { QueueTurn.giveUpFollower(state) }
    let outer = (state.pointee.running, state.pointee.ownsRunning)
    let wasInsideBody = state.pointee.isInsideBody
    if outer.0 != nil { state.pointee.isInsideBody = !ThreadState.hasReturned(state) }
    (state.pointee.running, state.pointee.ownsRunning) = (.passUnretained(self), isOwned)
    Tracing.note(self, .handlerStarted(callsClosure: callsClosure(for: source)))
    source._withUnsafeGuaranteedRef { run(self, unsafeDowncast($0, to: Cell.self)) }
    source.release()
    Tracing.note(self, .handlerReturned)
    (state.pointee.running, state.pointee.ownsRunning) = outer
    state.pointee.isInsideBody = wasInsideBody
  }

  /// The cell that will never be settled, now that this handler was dropped uncalled: beside that
  /// of the handler, if there is one.
  func abandonedResult() -> Cell? { nil }

  /// Whether what this handler returned has settled its promise.
  @inline(__always)
  final var hasSettled: Bool {
    let word = output.load(ordering: .relaxed)
    if word & Output.linked == 0 { return word & Output.settled != 0 }
    return followLinks().isSettledRoot
  }

  private final var isCancelledAndWantsToKnow: Bool {
    let wanted = Input.detached | Input.wantsRejection
    return input.load(ordering: .acquiring) & wanted == wanted
  }

  /// Takes the user's closure out, so that what it captured can go before the promise settles.
  @inlinable
  final func takeBody<Closure>(as type: Closure.Type) -> Closure {
    // Moved out: that counts no reference.
    withUnsafeMutablePointer(to: &body) { body in
      let closure = body.withMemoryRebound(to: ErasedClosure.Wrapped<Closure>.self, capacity: 1) {
        $0.move().closure
      }
      body.initialize(to: nil)
      return closure
    }
  }

  @inlinable
  final func dropBody() { body = nil }

  /// Fulfills this handler's promise with what the handler returned; a cancellation that came
  /// while it ran wins.
  ///
  /// Only while the handler has not adopted a promise: until then nobody else can settle its cell,
  /// and it need not be claimed.
  @inlinable
  final func finish<Value>(_ value: Value) {
    if input.load(ordering: .relaxed) & Input.cancelled != 0 {
      reject(Rejection.cancellation())
      return
    }
    unsafeDowncast(self, to: Derived<Value?>.self).value = value
    if !publish() { fulfill(value) }
  }

  /// Rejects this handler's promise with what the handler threw.
  @usableFromInline
  final func fail(_ error: any Error) {
    reject(Rejection(error, origin: nil))
  }
}

/// A user's closure whose type is known only to the handler's `run`.
///
/// Kept inside `Wrapped` all the time: taking a function out of a generic type converts it to the
/// calling convention of its static type, which must be the true one.
@usableFromInline
struct ErasedClosure {
  @usableFromInline
  struct Wrapped<Closure> {
    @usableFromInline let closure: Closure
    @inlinable init(_ closure: Closure) { self.closure = closure }
  }

  @usableFromInline let wrapped: Wrapped<() -> Void>

  /// `Closure` must be a function type, that is two words: any Swift closure is.
  @inlinable
  init<Closure>(_ closure: Closure) {
    wrapped = unsafeBitCast(Wrapped(closure), to: Wrapped<() -> Void>.self)
  }

  @inlinable
  func restored<Closure>(as type: Closure.Type) -> Closure {
    unsafeBitCast(wrapped, to: Wrapped<Closure>.self).closure
  }
}

/// A promise's cell that is settled by a resolver.
///
/// `Storage` is `Value?`: so `deinit`, which the compiler does not specialise, has its metadata at
/// hand and need not look it up.
@usableFromInline
final class Root<Storage>: Cell, @unchecked Sendable {
  @exclusivity(unchecked) @usableFromInline var value: Storage

  @inlinable
  init<Value>() where Storage == Value? {
    value = nil
    super.init(input: 0, slot: nil)
  }

  @inlinable
  init<Value>(value: Value) where Storage == Value? {
    self.value = value
    super.init(settled: nil)
  }

  @inlinable
  init<Value>(rejection: Rejection) where Storage == Value? {
    value = nil
    super.init(settled: rejection)
  }
}

/// A promise's cell that is settled by a handler; `Storage` is as in `Root`.
@usableFromInline
final class Derived<Storage>: Handler, @unchecked Sendable {
  @exclusivity(unchecked) @usableFromInline var value: Storage

  @inlinable
  init<Value>(
    input: UInt64, source: Cell, target: AnyObject?, body: ErasedClosure?,
    run: @escaping @Sendable (Handler, Cell) -> Void
  ) where Storage == Value? {
    value = nil
    super.init(input: input, source: source, target: target, body: body, run: run)
  }
}

extension Cell {
  /// The value of a settled, fulfilled root.
  ///
  /// `Value` must be the type that the cell was made with: the promise types see to that.
  @inlinable
  final func value<Value>(as type: Value.Type) -> Value {
    if isHandler {
      unsafeDowncast(self, to: Derived<Value?>.self).value.unsafelyUnwrapped
    } else {
      unsafeDowncast(self, to: Root<Value?>.self).value.unsafelyUnwrapped
    }
  }

  /// The outcome of a settled root; its error, if any, counts as handled.
  @inlinable
  final func handledResult<Value>() -> Result<Value, any Error> {
    guard let rejection else { return .success(value(as: Value.self)) }
    rejection.markHandled()
    return .failure(rejection.error)
  }

  /// Fulfills this cell's root, unless it is settled already.
  @inlinable @discardableResult
  final func fulfill<Value>(_ value: Value) -> Bool {
    switch claim() {
    case .lost:
      return false
    case .won:
      if isHandler {
        unsafeDowncast(self, to: Derived<Value?>.self).value = value
      } else {
        unsafeDowncast(self, to: Root<Value?>.self).value = value
      }
      publish()
      return true
    case .linked:
      guard root.fulfill(value) else { return false }
      dropInput()
      return true
    }
  }

  /// Settles this cell as `source`, a settled root of the same value type.
  @inlinable
  final func copy<Value>(from source: Cell, as type: Value.Type) {
    if let rejection = source.rejection {
      reject(rejection)
    } else {
      fulfill(source.value(as: type))
    }
  }
}
