/// Tasks that start on the thread that creates them.
@usableFromInline
enum ImmediateTasks {
  private static var maximumDepth: Int { 16 }

  /// Calls `start`, which starts a task on this thread, unless too many such tasks are on its stack;
  /// returns whether it did.
  ///
  /// A task that starts another one, and so on, would otherwise overflow the stack.
  @usableFromInline
  static func nest(_ start: () -> Void) -> Bool {
    let state = ThreadState.current
    guard state.pointee.immediateDepth < maximumDepth else { return false }
    state.pointee.immediateDepth += 1
    start()
    state.pointee.immediateDepth -= 1
    return true
  }
}

extension Task where Success == Void, Failure == Never {
  /// A handle of the current task, which has this type.
  static var current: Task<Void, Never> {
    // Each of these structures has one stored property, a reference to the task; copying the handle
    // retains it. `unsafeBitCast` stops the program if their sizes ever differ.
    withUnsafeCurrentTask { unsafeBitCast($0, to: Task<Void, Never>?.self) }.unsafelyUnwrapped
  }
}
