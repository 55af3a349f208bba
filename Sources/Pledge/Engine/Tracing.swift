import Dispatch
import Synchronization

// Where the engine tells a tracer what it does. While there is none, each of these places costs one
// load of a flag.

/// Tells the tracer, if there is one.
enum Tracing {
  typealias Tracer = @Sendable (Diagnostics.TraceEvent) -> Void

  /// In a struct, as the hook of `Diagnostics` is.
  private struct Hook { let call: Tracer }

  private static let tracer = Mutex<Hook?>(nil)

  static func set(_ new: Tracer?) {
    let old = tracer.withLock { tracer in
      Hooks.set(Hooks.tracing, new != nil)
      return exchange(&tracer, with: new.map(Hook.init))
    }
    // What it captured goes outside the lock.
    withExtendedLifetime(old) {}
  }

  @inline(__always)
  static func note(_ cell: Cell, _ kind: @autoclosure () -> Diagnostics.TraceEvent.Kind) {
    if Hooks.flags & Hooks.tracing != 0 { tell(Diagnostics.PromiseID(cell), kind()) }
  }

  @inline(never)
  private static func tell(_ promise: Diagnostics.PromiseID, _ kind: Diagnostics.TraceEvent.Kind) {
    guard let tracer = tracer.withLock({ $0 }) else { return }
    tracer.call(Diagnostics.TraceEvent(promise: promise, kind: kind))
  }
}

extension Handler {
  /// Where this handler will run, for a tracer.
  var tracedExecutor: Diagnostics.Executor {
    guard let target = target?.takeUnretainedValue() else {
      return Diagnostics.Executor(name: "immediate", id: nil, isSerial: false)
    }
    if input.load(ordering: .relaxed) & Input.queueTarget != 0 {
      let isGlobal = target === GlobalExecutor.queue
      return Diagnostics.Executor(
        name: isGlobal ? "global" : unsafeDowncast(target, to: DispatchQueue.self).label,
        id: Self.address(of: target), isSerial: isGlobal ? false : nil)
    }
    let scheduler = unsafeDowncast(target, to: Scheduler.self)
    return Diagnostics.Executor(
      name: scheduler.name, id: scheduler.identity.map { Self.address(of: $0) },
      isSerial: scheduler is TurnScheduler ? true : nil)
  }

  private static func address(of object: AnyObject) -> UInt {
    UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())
  }

  /// Tells the tracer that this handler, which makes no promise, works for that of `result`.
  @usableFromInline
  final func noteObserving(for result: Cell) {
    Tracing.note(self, .observes(for: Diagnostics.PromiseID(result.root)))
  }

  /// Whether the outcome of `source` is one for the closure of this handler.
  func callsClosure(for source: Unmanaged<AnyObject>) -> Bool {
    let source = unsafeDowncast(source.takeUnretainedValue(), to: Cell.self)
    let wanted = source.root.isRejected ? Input.wantsRejection : Input.wantsValue
    return body != nil && input.load(ordering: .relaxed) & wanted != 0
  }
}

extension Rejection {
  /// This rejection, for a tracer.
  var traced: Diagnostics.Rejection {
    Diagnostics.Rejection(
      error: error, id: UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()), origin: origin)
  }
}

extension Cell {
  /// Tells the tracer of a promise that a resolver, or a combinator, settles.
  @usableFromInline
  final func noteCreation(_ origin: Origin?) { Tracing.note(self, .created(origin: origin)) }

  /// Tells the tracer of a promise that is made rejected.
  @usableFromInline
  final func noteRejection(_ rejection: Rejection) {
    Tracing.note(self, .created(origin: rejection.origin))
    Tracing.note(self, .settled(rejection.traced))
  }
}
