import Foundation

// The reference: promises as one would explain them, with everything behind one lock, no sharing
// of states between promises and no thought of speed. What Pledge does must look like this.

/// Ways to make the reference wrong, to see that the comparison notices.
enum Fault: CaseIterable, Sendable {
  case none, lostObserver, doubleRun, wrongOrder, settlesTwice, forgetsToReport, cancelsTooMuch
}

/// Guarded by the world's lock, like all classes of this file.
final class ReferencePromise: @unchecked Sendable {
  /// What the promise waits for.
  enum Feed {
    case nothing
    case resolver([() -> Void])
    case observer(Observer)
  }

  var outcome: Settlement?
  var feed: Feed
  /// In the order in which they were attached.
  var observers: [Observer] = []
  /// Observers that have not turned away.
  var consumers = 0
  /// A gathering has let go of this promise and wants it to go on.
  var isKept = false
  /// Cancellation was asked for.
  var isCancelled = false
  /// Observers are being told: who comes now is told after them.
  var isDelivering = false
  /// A handler returned this promise while nobody observed it: Pledge may treat the two as one.
  var isAdopted = false

  init(_ feed: Feed, outcome: Settlement? = nil) {
    self.feed = feed
    self.outcome = outcome
  }
}

enum Settlement {
  case value(Int)
  case rejection(Rejection)

  var rejection: Rejection? { if case .rejection(let rejection) = self { rejection } else { nil } }
}

final class Rejection: @unchecked Sendable {
  let failure: Failure
  var isHandled: Bool

  init(_ failure: Failure) {
    self.failure = failure
    isHandled = failure == .cancelled
  }
}

/// Something that waits for a promise.
final class Observer {
  var source: ReferencePromise?
  let executor: Executor?
  let wantsValue: Bool
  let wantsRejection: Bool
  let isShield: Bool
  /// It has started.
  var isTaken = false
  /// It has turned away from its source, and sees what it has instead of it.
  var isDetached = false
  var replacement = Failure.cancelled
  var run: ((Settlement) -> Void)?

  init(
    _ source: ReferencePromise, executor: Executor? = nil, wantsValue: Bool = false,
    wantsRejection: Bool = false, isShield: Bool = false
  ) {
    self.source = source
    self.executor = executor
    self.wantsValue = wantsValue
    self.wantsRejection = wantsRejection
    self.isShield = isShield
  }
}

/// A manual executor.
final class Executor {
  var jobs: [Observer] = []
}

final class ReferenceResolver: @unchecked Sendable {
  let promise: ReferencePromise
  let id: Int
  private let world: ReferenceWorld

  init(_ promise: ReferencePromise, _ id: Int, _ world: ReferenceWorld) {
    self.promise = promise
    self.id = id
    self.world = world
  }

  deinit {
    world.lock.withLock {
      guard promise.outcome == nil else { return }
      // Whoever cancels it is telling the producer, and rejects it after that.
      if promise.isCancelled, case .resolver = promise.feed { return }
      world.reject(promise, promise.isCancelled ? .cancelled : .resolverDropped(id))
    }
  }
}

/// The rules.
///
/// `@unchecked Sendable`: all is guarded by `lock`.
final class ReferenceWorld: @unchecked Sendable {
  let lock = NSRecursiveLock()
  let fault: Fault
  /// All that were ever used to reject a promise.
  private(set) var rejections: [Rejection] = []
  /// A promise was used after it had been adopted: where Pledge has made one promise of two, it
  /// may tell the observers of both in another order, and cancels them together.
  private(set) var hasUsedAdopted = false

  init(fault: Fault) { self.fault = fault }

  // MARK: Settling

  @discardableResult
  func settle(_ promise: ReferencePromise, _ outcome: Settlement, byResolver: Bool = false) -> Bool
  {
    if let rejection = outcome.rejection { rejections.append(rejection) }
    if fault != .settlesTwice || promise.isDelivering {
      guard promise.outcome == nil else {
        // Too late, and so nobody's business.
        outcome.rejection?.isHandled = true
        return false
      }
    }
    // Who has cancelled does not wait for an error.
    if promise.isCancelled, !byResolver { outcome.rejection?.isHandled = true }
    if promise.isKept { outcome.rejection?.isHandled = true }
    promise.outcome = outcome
    promise.feed = .nothing
    deliver(promise)
    return true
  }

  func reject(_ promise: ReferencePromise, _ failure: Failure) {
    settle(promise, .rejection(Rejection(failure)))
  }

  private func deliver(_ promise: ReferencePromise) {
    promise.isDelivering = true
    defer { promise.isDelivering = false }
    while !promise.observers.isEmpty {
      let observer =
        fault == .wrongOrder ? promise.observers.removeLast() : promise.observers.removeFirst()
      if observer.isDetached {
        promise.outcome?.rejection?.isHandled = true
      } else {
        deliver(observer)
      }
    }
  }

  // MARK: Observing

  func attach(_ observer: Observer, to promise: ReferencePromise) {
    if promise.outcome != nil, !promise.isDelivering {
      deliver(observer)
      return
    }
    if promise.isAdopted { hasUsedAdopted = true }
    promise.consumers += 1
    if fault == .lostObserver, promise.observers.count == 2 { return }
    promise.observers.append(observer)
  }

  /// Hands an observer to its executor, or runs it here if the outcome does not concern it.
  private func deliver(_ observer: Observer) {
    if observer.concernsExecutor, let executor = observer.executor {
      executor.jobs.append(observer)
    } else {
      perform(observer, inPlace: true)
    }
    if fault == .doubleRun, let run = observer.run, observer.wantsValue, observer.wantsRejection {
      run(.rejection(Rejection(.cancelled)))
    }
  }

  private var depth = 0
  private var deferred: [Observer] = []

  /// Runs an observer, at most 24 of them inside one another.
  func perform(_ observer: Observer, inPlace: Bool = false) {
    guard inPlace else { return start(observer) }
    if depth == 24 {
      deferred.append(observer)
      return
    }
    depth += 1
    start(observer, inPlace: true)
    while depth == 1, !deferred.isEmpty { start(deferred.removeFirst(), inPlace: true) }
    depth -= 1
  }

  private func start(_ observer: Observer, inPlace: Bool = false) {
    guard !observer.isTaken, let run = observer.run else { return }
    // Cancelled while it waited for its turn in place: now it is its executor's.
    if inPlace, observer.concernsExecutor, observer.executor != nil { return }
    observer.isTaken = true
    let outcome = observer.isDetached ? nil : observer.source?.outcome
    observer.source = nil
    observer.run = nil
    run(outcome ?? .rejection(Rejection(observer.replacement)))
  }

  /// Makes a promise with the outcome of a handler.
  func derive(
    _ source: ReferencePromise, _ executor: Executor? = nil, wantsValue: Bool = false,
    wantsRejection: Bool = false, isShield: Bool = false,
    _ run: @escaping (ReferencePromise, Settlement) -> Void
  ) -> ReferencePromise {
    let observer = Observer(
      source, executor: executor, wantsValue: wantsValue, wantsRejection: wantsRejection,
      isShield: isShield)
    let promise = ReferencePromise(.observer(observer))
    observer.run = { run(promise, $0) }
    attach(observer, to: source)
    return promise
  }

  /// What a handler returned; a cancellation that came meanwhile wins.
  func finish(_ promise: ReferencePromise, _ value: Int) {
    if promise.isCancelled { reject(promise, .cancelled) } else { settle(promise, .value(value)) }
  }

  /// A handler of `outer` has returned `inner`.
  func adopt(_ inner: ReferencePromise, by outer: ReferencePromise) {
    if inner === outer { return reject(outer, .returnedItself) }
    if let outcome = inner.outcome {
      if outer.isCancelled { reject(outer, .cancelled) } else { settle(outer, outcome) }
      return
    }
    if outer.isCancelled {
      // It was never wanted.
      if inner.consumers == 0, !inner.isKept { climb(inner) }
      return reject(outer, .cancelled)
    }
    let observer = Observer(inner)
    observer.run = { [self] in settle(outer, $0) }
    outer.feed = .observer(observer)
    let isFree = inner.observers.isEmpty && !inner.isKept
    attach(observer, to: inner)
    if isFree { inner.isAdopted = true }
  }

  // MARK: Cancelling

  func cancel(_ promise: ReferencePromise) {
    if promise.outcome == nil { climb(promise) }
  }

  /// Asks what feeds `promise` to stop, as far up as nobody else consumes it.
  private func climb(_ promise: ReferencePromise) {
    guard promise.outcome == nil else { return }
    let wasCancelled = promise.isCancelled
    switch promise.feed {
    case .nothing:
      promise.isCancelled = true
    case .resolver(let handlers):
      if wasCancelled { return }
      promise.isCancelled = true
      promise.feed = .resolver([])
      for handler in handlers { handler() }
      reject(promise, .cancelled)
    case .observer(let observer):
      promise.isCancelled = true
      // It is running: it looks at `isCancelled` when it has returned.
      guard !observer.isTaken, let source = observer.source else { return }
      if observer.isDetached || source.outcome != nil { return detach(observer) }
      if wasCancelled { return }
      if observer.isShield { return detach(observer) }
      source.consumers -= 1
      if (source.consumers == 0 && !source.isKept) || fault == .cancelsTooMuch {
        climb(source)
      } else {
        detach(observer)
      }
    }
  }

  /// Makes an observer see a cancellation now.
  private func detach(_ observer: Observer) {
    observer.isDetached = true
    let source = observer.source
    deliver(observer)
    source?.outcome?.rejection?.isHandled = true
  }

  /// Takes an observer away, and its interest in its source.
  func withdraw(_ observer: Observer) {
    guard !observer.isTaken, !observer.isDetached, let source = observer.source else { return }
    observer.isDetached = true
    deliver(observer)
    source.consumers -= 1
    if source.consumers == 0, !source.isKept { climb(source) }
    source.outcome?.rejection?.isHandled = true
  }

  /// Makes a promise that settles as `source`, and what rejects it with `failure` instead.
  func timeout(
    _ source: ReferencePromise, _ failure: Failure
  ) -> (ReferencePromise, fire: () -> Void) {
    let observer = Observer(source)
    let promise = ReferencePromise(.observer(observer))
    observer.run = { [self] in settle(promise, $0) }
    attach(observer, to: source)
    let fire = { [self] in
      guard !observer.isTaken, !observer.isDetached else { return }
      observer.replacement = failure
      // Who has cancelled has withdrawn by that.
      if promise.isCancelled { detach(observer) } else { withdraw(observer) }
    }
    return (promise, fire)
  }

  /// Takes an observer away, and has its source go on all the same.
  func leave(_ observer: Observer) {
    guard !observer.isTaken, !observer.isDetached, let source = observer.source else { return }
    observer.isDetached = true
    source.consumers -= 1
    keep(source)
  }

  func keep(_ promise: ReferencePromise) {
    promise.isKept = true
    promise.outcome?.rejection?.isHandled = true
  }

  func cancelIfDeserted(_ promise: ReferencePromise) {
    if promise.consumers == 0, !promise.isKept { climb(promise) }
  }

  func onCancel(_ promise: ReferencePromise, _ handler: @escaping () -> Void) {
    guard case .resolver(let handlers) = promise.feed, promise.outcome == nil, !promise.isCancelled
    else {
      if promise.isCancelled { handler() }
      return
    }
    promise.feed = .resolver(handlers + [handler])
  }

  /// What nobody handled.
  var unhandled: ArraySlice<Failure> {
    var seen: Set<ObjectIdentifier> = []
    let all = rejections.filter { !$0.isHandled && seen.insert(ObjectIdentifier($0)).inserted }
    return all.map(\.failure).dropLast(fault == .forgetsToReport ? 1 : 0)
  }
}

extension Observer {
  /// Whether what it is to see is for its executor.
  fileprivate var concernsExecutor: Bool {
    isDetached || source?.outcome?.rejection != nil ? wantsRejection : wantsValue
  }
}
