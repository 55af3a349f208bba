/// The schedulers of one kind, by the objects for which they schedule.
///
/// It retains neither schedulers nor objects.
final class SchedulerRegistry<Scheduler: AnyObject & Sendable>: Sendable {
  private struct Weak { weak var scheduler: Scheduler? }

  private let all = Mutex<[ObjectIdentifier: Weak]>([:])

  /// Returns the scheduler for `owner`, which `create` creates if there is none.
  func scheduler(for owner: ObjectIdentifier, create: () -> Scheduler) -> Scheduler {
    if let existing = all.withLock({ $0[owner]?.scheduler }) { return existing }
    // Outside the lock, because user code creates what it consists of; released there as well if
    // another thread registers one first.
    let new = create()
    return all.withLock { all in
      if let scheduler = all[owner]?.scheduler { return scheduler }
      all[owner] = Weak(scheduler: new)
      return new
    }
  }

  /// Removes the scheduler for `owner`, which is being deallocated, unless another has replaced it.
  func remove(for owner: ObjectIdentifier) {
    // Returned, because the last reference must not be released under the lock.
    _ = all.withLock { all in
      let scheduler = all[owner]?.scheduler
      if scheduler == nil { all[owner] = nil }
      return scheduler
    }
  }
}
