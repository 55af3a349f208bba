import Dispatch

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// What the engine keeps for each thread.
///
/// To be used through its pointer, a field at a time: most of it needs no reference counting.
struct ThreadState {
  /// How many handlers are running inside one another on this thread.
  var depth = 0
  /// Handlers that wait for this thread's stack to unwind.
  var deferred: [Handler] = []
  var nextDeferred = 0
  /// The handler that is running on this thread.
  var running: Unmanaged<Handler>?
  /// Whether `running` is held by whoever runs it, with a reference that nobody else can see.
  var ownsRunning = false
  /// Whether one of the handlers that `running` runs inside has not returned yet.
  var isInsideBody = false
  /// The queue turn that runs on this thread, if one does.
  var turn = QueueTurn()
  /// The scheduler whose turn runs on this thread, if one does; that keeps it alive.
  var scheduler: Unmanaged<AnyObject>?
  /// Releases that wait for this thread's stack to unwind.
  var isReleasing = false
  var releases: [Unmanaged<Cell>] = []

  /// Whether all handlers that run on this thread have returned to the engine, which now delivers
  /// what came of them.
  @inline(__always)
  static func hasReturned(_ state: UnsafeMutablePointer<ThreadState>) -> Bool {
    guard !state.pointee.isInsideBody, let running = state.pointee.running else { return false }
    return running._withUnsafeGuaranteedRef { $0.hasSettled }
  }

  /// Whether `cell` is the handler that runs on this thread, and nobody else holds it.
  @inline(__always)
  static func holdsAlone(_ cell: Cell, _ state: UnsafeMutablePointer<ThreadState>) -> Bool {
    // A reference that lies where other threads find it too, as one that was only lent, would not
    // do: they may copy it at any time.
    guard state.pointee.ownsRunning,
      state.pointee.running?.toOpaque() == Unmanaged.passUnretained(cell).toOpaque()
    else { return false }
    // Looked at where it lies: a variable would be one more reference.
    return withUnsafeMutablePointer(to: &state.pointee.running) { running in
      running.withMemoryRebound(to: Handler.self, capacity: 1) {
        isKnownUniquelyReferenced(&$0.pointee)
      }
    }
  }

  static var current: UnsafeMutablePointer<ThreadState> {
    let key = withAtomic(&threadStateKey) { $0.load(ordering: .relaxed) }
    if key != 0, let pointer = pthread_getspecific(pthread_key_t(key - 1)) {
      return pointer.assumingMemoryBound(to: ThreadState.self)
    }
    return makeCurrent()
  }

  @inline(never)
  private static func makeCurrent() -> UnsafeMutablePointer<ThreadState> {
    let state = UnsafeMutablePointer<ThreadState>.allocate(capacity: 1)
    state.initialize(to: ThreadState())
    pthread_setspecific(key, state)
    return state
  }

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let failure = pthread_key_create(&key) { pointer in
      let pointer: UnsafeMutableRawPointer? = pointer
      guard let state = pointer?.assumingMemoryBound(to: ThreadState.self) else { return }
      state.deinitialize(count: 1)
      state.deallocate()
    }
    precondition(failure == 0, "Pledge: the process has no thread-specific key left")
    withAtomic(&threadStateKey) { $0.store(UInt(key) + 1, ordering: .relaxed) }
    return key
  }()
}

/// `ThreadState.key` plus one, or nought while there is none: quick to read.
///
/// `nonisolated(unsafe)`: only touched atomically.
@exclusivity(unchecked) nonisolated(unsafe) private var threadStateKey: UInt = 0

/// Runs handlers in place, nested only so deep that the stack stays small.
enum Trampoline {
  /// Handlers nested deeper than this wait until the outermost one has returned.
  static let maximumDepth = 24

  static func perform(
    _ handler: Handler, _ state: UnsafeMutablePointer<ThreadState>, isOwned: Bool
  ) {
    if state.pointee.depth >= maximumDepth {
      state.pointee.deferred.append(handler)
      return
    }
    state.pointee.depth += 1
    handler.perform(state, isInPlace: true, isOwned: isOwned)
    leave(state)
  }

  static func leave(_ state: UnsafeMutablePointer<ThreadState>) {
    state.pointee.depth -= 1
    if state.pointee.depth == 0, !state.pointee.deferred.isEmpty { drain(state) }
  }

  private static func drain(_ state: UnsafeMutablePointer<ThreadState>) {
    state.pointee.depth = 1
    while state.pointee.nextDeferred < state.pointee.deferred.count {
      let next = state.pointee.nextDeferred
      let handler = state.pointee.deferred[next]
      state.pointee.nextDeferred = next + 1
      // Give back what was run, so that a long loop keeps no long queue; by halves, so that this
      // costs O(1) a handler.
      if next >= 64, next >= state.pointee.deferred.count / 2 {
        state.pointee.deferred.removeFirst(next + 1)
        state.pointee.nextDeferred = 0
      }
      handler.perform(state, isInPlace: true)
    }
    state.pointee.deferred.removeAll(keepingCapacity: true)
    state.pointee.nextDeferred = 0
    state.pointee.depth = 0
  }
}

/// Releases cells one after the other where letting go of one would let go of the next, and so
/// on down the stack.
enum ReleaseQueue {
  static func release(_ cell: Unmanaged<Cell>) {
    let state = ThreadState.current
    state.pointee.releases.append(cell)
    guard !state.pointee.isReleasing else { return }
    state.pointee.isReleasing = true
    while let next = state.pointee.releases.popLast() { next.release() }
    state.pointee.isReleasing = false
  }
}

/// Waiting for another thread to finish a handful of instructions.
struct Backoff {
  private var rounds = 0

  mutating func wait() {
    rounds += 1
    if rounds > 200 {
      // The other thread may have a lower priority: give it real time.
      usleep(50)
    } else if rounds > 10 {
      sched_yield()
    }
  }
}
