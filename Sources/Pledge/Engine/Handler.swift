extension Handler {
  /// Runs the handler, once: later calls do nothing.
  ///
  /// `isInPlace` means that this isn't necessarily the handler's executor.
  final func runHandler(_ state: UnsafeMutablePointer<ThreadState>, isInPlace: Bool) {
    guard let source = start(isInPlace: isInPlace, hasTarget: target != nil) else { return }
    if state.pointee.turn.next != nil { QueueTurn.runNext(state) }
    let outer = (state.pointee.running, state.pointee.closuresOnStack)
    state.pointee.running = .passUnretained(self)
    state.pointee.closuresOnStack = outer.1 &+ 1
    source._withUnsafeGuaranteedRef { source in
      if !source.isRejected, !Instrumentation.isTracing {
        run(self, source)
      } else {
        runCarefully(source)
      }
    }
    source.release()
    Instrumentation.note(self, .handlerReturned)
    (state.pointee.running, state.pointee.closuresOnStack) = outer
  }

  @inline(never)
  private final func runCarefully(_ source: Cell) {
    if Instrumentation.isTracing { Instrumentation.noteStart(of: self, source: source) }
    if let rejection = source.rejection {
      if rejection.isAbandonment, marks & Mark.hearsAbandonment == 0 { return abandonUncalled() }
      // A consumer that has cancelled doesn't wait for an error; other consumers can.
      if isCancelled, !source.hadManyConsumers { rejection.markHandled() }
    }
    run(self, source)
  }

  /// Takes the user's closure out of `body`, so that its captures are released before the promise
  /// settles.
  @inlinable
  final func takeBody<Closure>(as type: Closure.Type) -> Closure {
    // Moved out, which doesn't change the closure's reference count.
    withUnsafeMutablePointer(to: &body) { body in
      let closure = body.withMemoryRebound(to: ErasedClosure.Wrapped<Closure>.self, capacity: 1) {
        $0.move().closure
      }
      body.initialize(to: nil)
      return closure
    }
  }

  /// Releases the closure of a handler that is skipped.
  ///
  /// A closure that is isolated to an actor is released on that actor, because the objects that it
  /// captured, and their `deinit`, can be isolated to the actor. Otherwise, if the thread is shared,
  /// it's released on the global queue.
  @usableFromInline
  final func dropBody() {
    guard body?.hasContext == true else {
      body = nil
      return
    }
    ErasedClosure.release(exchange(&body, with: nil), in: isolation)
  }

  /// The scheduler of the actor to which the closure is isolated, if any.
  private final var isolation: Scheduler? {
    guard let target, marks & Mark.queueTarget == 0 else { return nil }
    let scheduler = unsafeDowncast(target.takeUnretainedValue(), to: Scheduler.self)
    return scheduler.isIsolation ? scheduler : nil
  }

  /// Fulfills this handler's promise with the value that its closure returned, unless the promise
  /// was cancelled while the closure ran.
  @inlinable
  final func finish<Value>(_ value: Value) {
    let cell = unsafeDowncast(self, to: Derived<Value?>.self)
    cell.value = value
    if !settleOperator() {
      cell.value = nil
      fail(Rejection.cancellation)
    }
  }

  /// Rejects this handler's promise with the error that its closure threw.
  @usableFromInline
  final func fail(_ error: any Error) {
    // A consumer that has cancelled doesn't wait for an error.
    fail(Rejection(error, origin: nil, isSilent: isCancelled))
  }

  /// Rejects this handler's promise with the rejection of its source, or with a new one.
  @usableFromInline
  final func fail(_ rejection: Rejection) { _ = settleOperator(rejection) }

  /// Abandons the promise of this handler, whose source was abandoned, without calling its closure.
  private final func abandonUncalled() {
    dropBody()
    fail(isCancelled ? .cancellation : .abandonment)
  }
}

extension Handler {
  /// Rejects the promise of this handler, which its executor has dropped, unless the handler has
  /// started.
  final func breakUncalled() {
    guard let source = start(isInPlace: false, hasTarget: false) else { return }
    dropBody()
    fail(
      Rejection(BrokenPromiseError(origin: nil, reason: .executorDroppedJob), origin: nil))
    source.release()
  }
}

/// A job that releases a closure.
///
/// `@unchecked Sendable`: only `perform`, which is called once, touches the closure.
private final class ClosureRelease: Job, @unchecked Sendable {
  private var closure: ErasedClosure?

  /// The closure is moved, so that this thread keeps no reference that could become the last one.
  init(_ closure: consuming ErasedClosure?) { self.closure = closure }

  override var callsProgramInPlace: Bool { true }

  override func perform(_ state: UnsafeMutablePointer<ThreadState>, isInPlace: Bool) {
    closure = nil
  }
}

/// A user's closure whose type only the handler's `run` contains.
///
/// The closure always stays inside `Wrapped`: reading a function from a generic type converts it to
/// the calling convention of its static type, which must be the actual type.
@usableFromInline
struct ErasedClosure {
  @usableFromInline
  struct Wrapped<Closure> {
    @usableFromInline let closure: Closure
    @inlinable init(_ closure: Closure) { self.closure = closure }
  }

  @usableFromInline let wrapped: Wrapped<() -> Void>

  /// `Closure` must be a function type, which has two words like any Swift closure, or a struct
  /// that contains only such a closure, such as `ResultAction`.
  @inlinable
  init<Closure>(_ closure: Closure) {
    wrapped = unsafeBitCast(Wrapped(closure), to: Wrapped<() -> Void>.self)
  }

  /// A copy of the closure.
  func copy<Closure>(as type: Closure.Type) -> Closure {
    unsafeBitCast(wrapped, to: Wrapped<Closure>.self).closure
  }

  /// Releases `closure` on `isolation`, or on the current thread if `isolation` is nil.
  static func release(_ closure: consuming ErasedClosure?, in isolation: Scheduler?) {
    let release = ClosureRelease(closure)
    let state = ThreadState.current
    let current = state.pointee.scheduler?.toOpaque()
    if let isolation, current != Unmanaged.passUnretained(isolation).toOpaque() {
      isolation.enqueue(release)
    } else {
      Trampoline.perform(release, state)
    }
  }

  /// Whether the closure captures anything.
  ///
  /// A closure consists of the address of a function and the address of a context, which is null if
  /// it captures nothing.
  var hasContext: Bool {
    withUnsafeBytes(of: wrapped) { $0.load(fromByteOffset: 8, as: UInt.self) != 0 }
  }
}

/// A closure that receives a result and returns nothing, in the form that `ErasedClosure` takes.
///
/// If passed directly, the closure would have a generic function type, which returns its result
/// indirectly even if it is `Void`, and the compiler would allocate another closure to convert it.
@usableFromInline
struct ResultAction<Value> {
  @usableFromInline let call: @Sendable (Result<Value, any Error>) -> Void

  @inlinable
  init(_ call: @escaping @Sendable (Result<Value, any Error>) -> Void) { self.call = call }
}

/// A closure that receives an error and returns nothing: see `ResultAction`.
@usableFromInline
struct ErrorAction {
  @usableFromInline let call: @Sendable (any Error) -> Void

  @inlinable
  init(_ call: @escaping @Sendable (any Error) -> Void) { self.call = call }
}

/// A closure that receives and returns nothing, but can throw: see `ResultAction`.
@usableFromInline
struct CleanUpAction {
  @usableFromInline let call: @Sendable () throws -> Void

  @inlinable
  init(_ call: @escaping @Sendable () throws -> Void) { self.call = call }
}
