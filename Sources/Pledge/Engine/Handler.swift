/// A cell that a handler settles: both the promise that an operator returns and the observer that
/// waits in the list of the promise on which the operator was called.
///
/// One object per link.
///
/// `target` is retained manually, so that reading it doesn't change its reference count. `run` and
/// `body` replace one generic closure: `run` is a closure without captures that contains the types,
/// and `body` is the user's closure with its type erased.
///
/// `@unchecked Sendable`: the links are guarded by the lock of the source, and belong to the thread
/// that has taken the source's list; `body` belongs to the thread that starts the handler; the rest
/// is immutable.
@usableFromInline
class Handler: Cell, @unchecked Sendable {
  /// The next older observer of the source, and the next newer one; see `Observer`.
  @exclusivity(unchecked) final var next: Observer?
  @exclusivity(unchecked) final var previous: Observer?
  final let target: Unmanaged<AnyObject>?
  @usableFromInline final let run: @Sendable (Handler, Cell) -> Void
  // Not `ErasedClosure?`, which would be nil first.
  @exclusivity(unchecked) @usableFromInline final var body: Optional<ErasedClosure>

  /// `source` is `__shared`, so that it is retained only once.
  @usableFromInline
  init(
    _ role: Role, of source: __shared Cell, on target: __shared HandlerTarget,
    body: __owned ErasedClosure?, run: @escaping @Sendable (Handler, Cell) -> Void
  ) {
    self.target = target.kind == .inPlace ? nil : .passRetained(target.object.unsafelyUnwrapped)
    // Only a user's closure can read the task-local values. Each branch ends the initializer, so
    // that `run` and `body` are moved and not retained.
    if Instrumentation.capturesContext, body != nil, !role.has(.contextFree) {
      self.run = Self.capturingContext(run)
      self.body = body
      super.init(role, target.kind, source: source)
    } else {
      self.run = run
      self.body = body
      super.init(role, target.kind, source: source)
    }
  }

  deinit { target?.release() }

  /// Wraps `run` so that it runs in the current context.
  private static func capturingContext(
    _ run: @escaping @Sendable (Handler, Cell) -> Void
  ) -> @Sendable (Handler, Cell) -> Void {
    guard let context = Instrumentation.snapshot() else { return run }
    return { handler, source in context.restore { run(handler, source) } }
  }

  /// Where the handler's closure runs.
  final var place: HandlerTarget { HandlerTarget(target?.takeUnretainedValue(), targetKind) }

  override final var queue: Unmanaged<AnyObject>? {
    if targetKind != .scheduler { return target }
    return target?._withUnsafeGuaranteedRef { unsafeDowncast($0, to: Scheduler.self).dispatchQueue }
  }

  /// Sends this handler to its target; false if it has none, or if its closure doesn't receive a
  /// result with this rejection.
  ///
  /// `isSole` is true if it is the only observer of a promise that was settled on this thread.
  @inline(__always)
  final func sendToTarget(
    for rejection: Rejection?, isSole: Bool, _ state: UnsafeMutablePointer<ThreadState>
  ) -> Bool {
    guard let target, role.receives(rejection) else { return false }
    target._withUnsafeGuaranteedRef { target in
      switch targetKind {
      case .inPlace: break
      case .scheduler: unsafeDowncast(target, to: Scheduler.self).enqueue(self)
      case .queue: Turn.enqueue(self, on: target, isSole: isSole, state)
      case .queueAlone: Turn.enqueueAlone(self, on: target)
      }
    }
    return true
  }

  /// Runs the handler, once: later calls do nothing.
  override final func perform(_ state: UnsafeMutablePointer<ThreadState>, isInPlace: Bool) {
    guard let source = start(isInPlace: isInPlace) else { return }
    if state.pointee.turn.next != nil { Turn.runNext(state) }
    let outer = (state.pointee.running, state.pointee.closuresOnStack)
    state.pointee.running = .passUnretained(self)
    state.pointee.closuresOnStack = outer.1 &+ 1
    source._withUnsafeGuaranteedRef { source in
      if source.isRejected || Instrumentation.isTracing {
        runCarefully(source)
      } else {
        run(self, source)
      }
    }
    source.release()
    Instrumentation.note(self, .handlerReturned)
    (state.pointee.running, state.pointee.closuresOnStack) = outer
  }

  @inline(never)
  private final func runCarefully(_ source: Cell) {
    Instrumentation.note(
      self,
      .handlerStarted(
        callsClosure: body != nil && role.callsClosure && !role.has(.contextFree)
          && role.receives(source.rejection)))
    if let rejection = source.rejection {
      if rejection.isAbandonment, !role.receives(rejection) {
        dropBody()
        return fail(isCancelled ? .cancellation : .abandonment)
      }
      // A consumer that has cancelled doesn't wait for an error; other consumers can.
      if isCancelled, !source.hadManyConsumers { rejection.markHandled() }
      if role.receives(nil), !role.receives(rejection) {
        dropBody()
        return fail(rejection)
      }
      if !rejection.remainingWork.isEmpty, isCancelled {
        let state = ThreadState.current
        let outer = exchange(&state.pointee.inherited, with: (self, source))
        run(self, source)
        state.pointee.inherited = outer
        return
      }
    }
    run(self, source)
  }

  /// Rejects the promise of this handler, which its executor has dropped, unless the handler has
  /// started.
  override final func drop() {
    guard let source = start(isInPlace: false) else { return }
    dropBody()
    // As if the closure had been called, and had returned.
    ThreadState.current.pointee.closuresOnStack &+= 1
    fail(BrokenPromiseError(origin: nil, reason: .executorDroppedJob))
    ThreadState.current.pointee.closuresOnStack &-= 1
    source.release()
  }
}

// MARK: - Ending

extension Handler {
  /// Fulfills this handler's promise with the value that its closure returned, unless the promise
  /// was cancelled while the closure ran.
  @inlinable
  final func finish<Value>(_ value: Value) {
    let cell = unsafeDowncast(self, to: Derived<Value>.self)
    cell.storage.initialize(to: value)
    if !settleOperator() {
      cell.storage.deinitialize(if: true)
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
  ///
  /// A cancelled handler passes on what its source leaves, even if its closure has replaced the error.
  @usableFromInline
  final func fail(_ rejection: Rejection) {
    var rejection = rejection
    if let (heir, source) = ThreadState.current.pointee.inherited, heir === self,
      rejection !== unsafeDowncast(source, to: Cell.self).rejection
    {
      rejection = rejection.naming(.promise(source))
    }
    _ = settleOperator(rejection)
  }
}

// MARK: - The closure

extension Handler {
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

  /// Releases the closure of a handler that is skipped, in its isolation.
  @usableFromInline
  final func dropBody() {
    guard body?.hasContext == true else {
      body = nil
      return
    }
    place.release(exchange(&body, with: nil))
  }
}

/// A user's closure whose type only the handler's `run` contains.
///
/// The closure always stays inside `Wrapped`: reading a function from a generic type converts it to
/// the calling convention of its static type, which must be the actual type.
@frozen @usableFromInline
struct ErasedClosure {
  @frozen @usableFromInline
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

  /// Takes the bits of `function`, a struct that contains only a closure.
  @inlinable
  init<Function>(bits function: Function) {
    wrapped = unsafeBitCast(function, to: Wrapped<() -> Void>.self)
  }

  /// A copy of the closure.
  @inlinable
  func copy<Closure>(as type: Closure.Type) -> Closure {
    unsafeBitCast(wrapped, to: Wrapped<Closure>.self).closure
  }

  /// Whether the closure captures anything.
  ///
  /// A closure consists of the address of a function and the address of a context, which is null if
  /// it captures nothing.
  var hasContext: Bool {
    withUnsafeBytes(of: wrapped) {
      $0.load(fromByteOffset: MemoryLayout<UInt>.size, as: UInt.self) != 0
    }
  }
}

/// A closure that receives a result and returns nothing, in the form that `ErasedClosure` takes.
///
/// If passed directly, the closure would have a generic function type, which returns its result
/// indirectly even if it is `Void`, and the compiler would allocate another closure to convert it.
@frozen @usableFromInline
struct ResultAction<Value> {
  @usableFromInline let call: @Sendable (Result<Value, any Error>) -> Void

  @inlinable
  init(_ call: @escaping @Sendable (Result<Value, any Error>) -> Void) { self.call = call }
}

/// A closure that receives an error and returns nothing: see `ResultAction`.
@frozen @usableFromInline
struct ErrorAction {
  @usableFromInline let call: @Sendable (any Error) -> Void

  @inlinable
  init(_ call: @escaping @Sendable (any Error) -> Void) { self.call = call }
}

/// A closure that receives and returns nothing, but can throw: see `ResultAction`.
@frozen @usableFromInline
struct CleanUpAction: Sendable {
  @usableFromInline let call: @Sendable () throws -> Void

  @inlinable
  init(_ call: @escaping @Sendable () throws -> Void) { self.call = call }
}
