import Synchronization

// A closure that may run in place on an outcome that is there already needs no handler: nothing
// can cancel it, overtake it or have to wait for it. The operator calls it, and makes a promise of
// what it returned.

extension Cell {
  /// Whether a closure for `target` can be called here and now with this cell's outcome.
  @inlinable
  final func isReady(for target: _HandlerTarget) -> Bool {
    // With nothing beside the flag: not linked, and nobody is on the way who was here before.
    target.object == nil && output.load(ordering: .acquiring) == Output.settled
      && input.load(ordering: .relaxed) & Input.disowned == 0
  }
}

/// A call of a user's closure in place, without a handler.
///
/// It counts as one of the handlers that run inside one another on this thread.
@usableFromInline
struct InPlaceCall {
  private let state: UnsafeMutablePointer<ThreadState>
  private let wasInsideBody: Bool

  /// Begins a call, which `end()` has to end.
  ///
  /// Nil if a handler is needed after all: because so many run inside one another that this one
  /// has to wait, or because a service wants to see it.
  @usableFromInline
  init?() {
    state = ThreadState.current
    guard Hooks.flags == 0, state.pointee.depth < Trampoline.maximumDepth else { return nil }
    if state.pointee.turn.follower != nil { QueueTurn.giveUpFollower(state) }
    state.pointee.depth += 1
    wasInsideBody = state.pointee.isInsideBody
    if state.pointee.running != nil { state.pointee.isInsideBody = true }
  }

  @usableFromInline
  func end() {
    state.pointee.isInsideBody = wasInsideBody
    Trampoline.leave(state)
  }
}
