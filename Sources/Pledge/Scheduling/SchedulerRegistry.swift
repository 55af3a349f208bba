/// The schedulers of one kind, by the objects for which they schedule.
///
/// It retains neither schedulers nor objects.
final class SchedulerRegistry<Scheduler: AnyObject & Sendable>: Sendable {
  /// A weak reference.
  ///
  /// It is a class, because a struct with a weak reference and another field isn't copied correctly
  /// inside an optional (Swift 6.3).
  ///
  /// `@unchecked Sendable`: written once, in the initializer.
  private final class Weak: @unchecked Sendable {
    private(set) weak var scheduler: Scheduler?
    let identity: ObjectIdentifier

    init(_ scheduler: Scheduler) {
      self.scheduler = scheduler
      identity = ObjectIdentifier(scheduler)
    }
  }

  private let all = Mutex<[ObjectIdentifier: Weak]>([:])

  /// Returns the scheduler for `owner`, which `create` creates if there is none.
  func scheduler(for owner: ObjectIdentifier, create: () -> Scheduler) -> Scheduler {
    if let existing = all.withLock({ $0[owner]?.scheduler }) { return existing }
    // Outside the lock, because user code creates what it consists of; released there as well if
    // another thread registers one first.
    let new = create()
    return all.withLock { all in
      if let scheduler = all[owner]?.scheduler { return scheduler }
      all[owner] = Weak(new)
      return new
    }
  }

  /// Removes a scheduler that is being deallocated.
  func remove(_ identity: ObjectIdentifier, for owner: ObjectIdentifier) {
    all.withLock { all in
      // Another scheduler could have replaced it in the meantime.
      if all[owner]?.identity == identity { all[owner] = nil }
    }
  }
}
