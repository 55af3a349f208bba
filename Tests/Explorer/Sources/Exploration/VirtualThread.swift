/// The maximum number of virtual threads in one run.
let maximumThreads = 64

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
/// A system thread carries each one, and runs it only while it has the baton.
struct VirtualThread {
  enum State {
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

    func isFor(_ object: AnyObject) -> Bool {
      switch self {
      case .lock(let lock): lock === object
      case .semaphore(let semaphore): semaphore === object
      case .nothing, .queue: false
      }
    }
  }

  var state = State.ready
  var role = Role.body
  var obstacle = Obstacle.nothing
  var access = Access()
  var work: (() -> Void)?
  /// The queue of which this is a block.
  var queue: VirtualQueue?
  /// The priority of a task; a block has that of the thread that created it.
  var priority = mediumPriority
  var hasBegun = false
  /// Whether its next step happens only when time advances.
  var isTimed = false
  /// The deadline of a timer, in nanoseconds of virtual time.
  var deadline: UInt64 = 0
  /// The number of writes in this run that this thread made.
  var ownWrites = 0
  /// The number of others' writes that it had seen when it last found nothing new.
  var seenWrites = -1
  /// How often it has waited for a write of another thread.
  var spins = 0
  /// The threads, one bit each, that must take a step, or wait, before this one continues.
  var yieldsTo: UInt64 = 0
  /// The step in which it was created, or -1.
  var creation = -1
  /// The block before it on a serial queue, or -1.
  var predecessor = -1
  var heldLocks: [VirtualLock] = []
  static let mediumPriority: UInt8 = 21

  /// Whether it waits for a worker of the pool, or occupies one.
  var isPooled: Bool { queue?.isSerial == false && state != .finished }

  func description(_ number: Int) -> String {
    switch role {
    case .body: "thread \(number)"
    case .block: "block \(number) of queue \(queue?.label ?? "?")"
    case .timer: "timer \(number)"
    }
  }
}
