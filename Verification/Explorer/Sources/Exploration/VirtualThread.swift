/// The most virtual threads that one run can have.
let maximumThreads = 64

/// What a virtual thread is about to do.
struct Access {
  enum Kind: UInt8 {
    case start, load, store, update, lock, wait, signal, send, fire, arm, time, spin
  }

  var address: UInt = 0
  var kind = Kind.start

  var isWrite: Bool { kind != .load && kind != .time }
}

/// A body of a scenario, a block on a queue, or a timer.
///
/// Each one is carried by a thread of its own. It runs only while it has the baton.
struct VirtualThread {
  enum State {
    /// Can take its next step.
    case ready
    /// Waits for another thread to write something.
    case spinning
    /// Waits for what `obstacle` names.
    case waiting
    case finished
  }

  enum Role { case body, block, timer }

  enum Obstacle {
    case nothing
    case lock(VirtualLock)
    case semaphore(VirtualSemaphore)
    case queue(VirtualQueue)
  }

  var state = State.ready
  var role = Role.body
  var obstacle = Obstacle.nothing
  var access = Access()
  var work: (() -> Void)?
  /// The queue one of whose blocks this is.
  var queue: VirtualQueue?
  /// Whether only the passing of time makes its next step happen.
  var isTimed = false
  /// When a timer is due, in nanoseconds of virtual time.
  var deadline: UInt64 = 0
  /// How many of the writes in this run were its own.
  var ownWrites = 0
  /// The number of others' writes that it had seen when it last found nothing new.
  var seenWrites = -1
  /// How often it has waited for others to write something.
  var spins = 0
  /// The threads, one bit each, that have to take a step, or to wait, before this one goes on.
  var yieldsTo: UInt64 = 0
  /// The step in which it was created, or -1.
  var creation = -1
  /// The block before it on a serial queue, or -1.
  var predecessor = -1
  var heldLocks: [VirtualLock] = []

  func description(_ number: Int) -> String {
    switch role {
    case .body: "thread \(number)"
    case .block: "block \(number) of queue \(queue?.label ?? "?")"
    case .timer: "timer \(number)"
    }
  }
}
