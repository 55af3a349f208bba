import CExplorer

// What virtual threads can wait for: locks, semaphores, queues, and time.

/// An object with an address in accesses.
private protocol Addressed: AnyObject {}
extension Addressed {
  fileprivate var address: UInt { UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()) }
}

/// A lock whose holder is known to the scheduler.
package final class VirtualLock: Addressed, @unchecked Sendable {
  // Guarded by the baton, like all of the scheduler's state.
  var holder = -1

  package init() {}

  package func lock() {
    let current = Int(explorer_self())
    guard current >= 0 else { return }
    Scheduler.threads[current].access = Access(address: address, kind: .lock)
    repeat {
      if holder >= 0 {
        Scheduler.threads[current].obstacle = .lock(self)
        Scheduler.setWaiting(current, .waiting)
      }
      Scheduler.pass(from: current)
    } while holder >= 0
    holder = current
    Scheduler.threads[current].heldLocks.append(self)
    Memory.acquire(address, by: current)
    explorer_acquire(UnsafeRawPointer(bitPattern: address))
  }

  package func unlock() {
    let current = Int(explorer_self())
    guard current >= 0 else { return }
    explorer_release(UnsafeRawPointer(bitPattern: address))
    Memory.release(address, by: current)
    holder = -1
    Scheduler.threads[current].heldLocks.removeAll { $0 === self }
    Scheduler.noteWrite(thatEnds: self)
  }
}

package final class VirtualSemaphore: Addressed, @unchecked Sendable {
  // Guarded by the baton.
  private var count: Int

  package init(value: Int) { count = value }

  package func signal() {
    let current = Int(explorer_self())
    Scheduler.point(.signal, address)
    explorer_release(UnsafeRawPointer(bitPattern: address))
    if current >= 0 { Memory.release(address, by: current) }
    count += 1
    Scheduler.noteWrite(thatEnds: self)
  }

  /// Waits for a signal, for `limit` nanoseconds if that is given.
  ///
  /// Returns whether there was a signal.
  package func wait(limit: UInt64? = nil) -> Bool {
    let isTimed = limit != nil
    let current = Int(explorer_self())
    guard current >= 0 else {
      if count == 0 { Scheduler.die("a wait outside of a run that nothing can end") }
      count -= 1
      return true
    }
    Scheduler.threads[current].access = Access(address: address, kind: .wait)
    Scheduler.threads[current].isTimed = isTimed
    Scheduler.threads[current].deadline = Scheduler.time &+ (limit ?? 0)
    repeat {
      if count == 0 && !isTimed {
        Scheduler.threads[current].obstacle = .semaphore(self)
        Scheduler.setWaiting(current, .waiting)
      }
      Scheduler.pass(from: current)
    } while count == 0 && !isTimed
    Scheduler.threads[current].isTimed = false
    guard count > 0 else {
      Scheduler.time = max(Scheduler.time, Scheduler.threads[current].deadline)
      return false
    }
    count -= 1
    Memory.acquire(address, by: current)
    explorer_acquire(UnsafeRawPointer(bitPattern: address))
    return true
  }
}

/// A queue of blocks, each of which is a virtual thread.
///
/// A serial queue runs one block at a time, on a thread of its own. The blocks of concurrent queues
/// run on the workers of the pool.
package final class VirtualQueue: Addressed, @unchecked Sendable {
  package let label: String
  package let isSerial: Bool
  /// Whether its blocks are jobs of tasks.
  let carriesTasks: Bool
  // Guarded by the baton: the blocks of a serial queue that have not finished, in order.
  var blocks: [Int] = []

  package init(label: String, isSerial: Bool, carriesTasks: Bool = false) {
    (self.label, self.isSerial, self.carriesTasks) = (label, isSerial, carriesTasks)
  }

  /// The queue whose block the calling thread runs.
  package static var current: VirtualQueue? {
    let current = Int(explorer_self())
    return current < 0 ? nil : Scheduler.threads[current].queue
  }

  /// Adds a block, with the priority of the current thread if none is given.
  package func async(priority: UInt8? = nil, _ work: @escaping () -> Void) {
    if isSerial {
      Scheduler.point(.send, address)
    } else if Scheduler.workers < .max {
      Scheduler.point(.send, Scheduler.poolAddress)
    }
    let number = Scheduler.add(.block, priority: priority, work)
    let current = Int(explorer_self())
    if current >= 0 { Memory.fork(number, by: current) }
    enter(number)
  }

  /// Makes `number` a block of this queue.
  func enter(_ number: Int) {
    Scheduler.threads[number].queue = self
    guard isSerial else { return }
    if blocks.isEmpty { Scheduler.queues.append(self) }
    Scheduler.threads[number].predecessor = blocks.last ?? -1
    blocks.append(number)
    guard blocks.count > 1 else { return }
    Scheduler.threads[number].obstacle = .queue(self)
    Scheduler.setWaiting(number, .waiting)
  }

  func finished(_ number: Int) {
    guard isSerial else { return }
    blocks.removeFirst()
    guard let next = blocks.first else { return }
    Memory.join(next, number)
    Scheduler.setReady(next)
  }
}

/// A timer that fires once each time it is armed, at any moment after its deadline.
package final class VirtualTimer: Addressed, @unchecked Sendable {
  // Guarded by the baton.
  private var armed = -1
  private var run = 0
  private let queue: VirtualQueue
  private let handler: () -> Void

  package init(queue: VirtualQueue, handler: @escaping () -> Void) {
    (self.queue, self.handler) = (queue, handler)
  }

  /// Makes the timer fire once, `delay` nanoseconds from now or later, instead of at an earlier
  /// deadline.
  package func arm(after delay: UInt64) {
    Scheduler.point(.arm, address)
    disarm()
    let deadline = Scheduler.time &+ delay
    let number = Scheduler.add(.timer) { [self] in fire() }
    let current = Int(explorer_self())
    if current >= 0 { Memory.fork(number, by: current) }
    Scheduler.threads[number].deadline = deadline
    Scheduler.threads[number].isTimed = true
    Scheduler.threads[number].access = Access(address: address, kind: .fire)
    (armed, run) = (number, Scheduler.runNumber)
  }

  private func disarm() {
    if armed >= 0, run == Scheduler.runNumber { Scheduler.drop(armed) }
    armed = -1
  }

  private func fire() {
    let current = Int(explorer_self())
    armed = -1
    if current >= 0 {
      Scheduler.threads[current].isTimed = false
      Scheduler.time = max(Scheduler.time, Scheduler.threads[current].deadline)
      if queue.isSerial {
        queue.enter(current)
        Scheduler.threads[current].access = Access(address: queue.address, kind: .send)
        Scheduler.pass(from: current)
      } else {
        Scheduler.threads[current].queue = queue
      }
    }
    handler()
  }
}

/// Virtual time, which advances only when timers fire.
package enum VirtualTime {
  /// The time since the start of the run, in nanoseconds.
  package static var now: UInt64 { Scheduler.time }
}
