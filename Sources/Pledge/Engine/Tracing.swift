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
    tracer.withLock { $0 = new.map(Hook.init) }
    Hooks.set(Hooks.tracing, new != nil)
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
  /// Where this handler will run, in words.
  var executorDescription: String {
    guard let target else { return "immediate" }
    if input.load(ordering: .relaxed) & Input.queueTarget != 0 {
      return unsafeDowncast(target, to: DispatchQueue.self).label
    }
    return unsafeDowncast(target, to: Scheduler.self).name
  }
}

extension Cell {
  /// Tells the tracer of a promise that a resolver settles.
  @usableFromInline
  final func noteCreation(_ origin: Origin) { Tracing.note(self, .created(origin: origin)) }
}
