// A closure that can run in place, with a result that already exists, needs no handler: nothing can
// cancel it, overtake it, or wait for it. The operator calls it and creates a promise from the
// value that it returns.

/// A call of a closure in place, without a handler.
///
/// It counts as one of the nested jobs on this thread, and runs in the context of its caller.
@usableFromInline
struct InPlaceCall {
  private let state: UnsafeMutablePointer<ThreadState>

  /// Begins a call, which `end()` must end.
  ///
  /// Nil if a handler is needed: because calls are nested so deeply that this one must wait, or
  /// because a trace records handlers.
  @usableFromInline
  init?() {
    state = ThreadState.current
    guard !Instrumentation.isTracing, state.pointee.depth < Trampoline.maximumDepth else {
      return nil
    }
    if state.pointee.turn.next != nil { Turn.runNext(state) }
    state.pointee.depth += 1
    state.pointee.closuresOnStack &+= 1
  }

  @usableFromInline
  func end() {
    state.pointee.closuresOnStack &-= 1
    Trampoline.leave(state)
  }
}
