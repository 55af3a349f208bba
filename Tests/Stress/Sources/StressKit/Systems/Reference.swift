// The reference: a direct implementation of the contract for one thread, with no sharing of states
// between promises, and no optimizations. Pledge must behave identically.

/// Faults to plant in the reference, which the comparison must detect.
enum Fault: CaseIterable, Sendable {
  case none, lostObserver, doubleRun, wrongOrder, settlesTwice, forgetsToReport, cancelsTooMuch
}

/// Used by one thread, like all classes of this file.
final class ReferencePromise: @unchecked Sendable {
  /// What settles the promise.
  enum Feed {
    case nothing
    case resolver(CancelHooks)
    case observer(Observer)
  }

  var outcome: Settlement?
  var feed: Feed
  /// The consumers, in the order in which they were attached; none once the promise has settled.
  var observers: [Observer] = []
  /// The number of consumers that have received the result.
  var takers = 0
  /// Whether a consumer was removed on purpose, so that an error without consumers counts as
  /// handled.
  var hasBeenLeft = false
  /// Whether the promise stays pending when its consumers are removed.
  var isKept = false
  var isCancelled = false

  init(_ feed: Feed, outcome: Settlement? = nil) {
    self.feed = feed
    self.outcome = outcome
  }
}

/// A resolver's cancellation handlers, and the observers through which its promise follows others.
struct CancelHooks {
  var handlers: [() -> Void] = []
  var followers: [Observer] = []
}

enum Settlement {
  case value(Int)
  case rejection(Rejection)
  /// The resolver was dropped; for the program, the promise stays pending forever.
  case abandoned

  var rejection: Rejection? { if case .rejection(let rejection) = self { rejection } else { nil } }
}

final class Rejection: @unchecked Sendable {
  let failure: Failure
  var isHandled: Bool
  /// Whether this is never reported.
  let isSilent: Bool
  /// The rejection of an input that a combinator passed on as this one.
  private var original: Rejection?

  init(_ failure: Failure, isSilent: Bool = false) {
    self.failure = failure
    self.isSilent = isSilent || failure == .cancelled
    isHandled = self.isSilent
  }

  /// Returns a rejection with the same failure and root for a combinator's result.
  func passedOn() -> Rejection {
    let own = Rejection(failure, isSilent: isSilent)
    own.original = root
    return own
  }

  /// The rejection in which the failure originated, which is reported once.
  var root: Rejection { original ?? self }
}

final class Observer {
  var source: ReferencePromise?
  let executor: Executor?
  let wantsValue: Bool
  let wantsRejection: Bool
  let isShield: Bool
  /// Whether the consumer is a closure of the program, rather than a promise that takes on the
  /// result.
  let hasClosure: Bool
  /// The promise that it settles, if it is an operator's handler.
  weak var promise: ReferencePromise?
  /// Whether it has started.
  var isTaken = false
  /// Whether it was detached from its source, and receives the replacement.
  var isDetached = false
  var replacement = Rejection(.cancelled)
  var run: ((Settlement) -> Void)?

  init(
    _ source: ReferencePromise, executor: Executor? = nil, wantsValue: Bool = false,
    wantsRejection: Bool = false, isShield: Bool = false, hasClosure: Bool = false
  ) {
    (self.source, self.executor) = (source, executor)
    (self.wantsValue, self.wantsRejection) = (wantsValue, wantsRejection)
    (self.isShield, self.hasClosure) = (isShield, hasClosure)
  }
}

final class Executor { var jobs: [Observer] = [] }

final class ReferenceResolver: @unchecked Sendable {
  let promise: ReferencePromise
  let id: Int
  private let world: ReferenceWorld

  init(_ promise: ReferencePromise, _ id: Int, _ world: ReferenceWorld) {
    (self.promise, self.id, self.world) = (promise, id, world)
  }

  deinit {
    // A request to cancel the promise first notifies the producer, and then rejects it.
    if promise.outcome == nil, !promise.isCancelled { world.reject(promise, .resolverDropped(id)) }
  }
}

/// The implementation of the contract.
final class ReferenceWorld: @unchecked Sendable {
  let fault: Fault
  /// All rejections that were used to reject a promise.
  private(set) var rejections: [Rejection] = []

  init(fault: Fault) { self.fault = fault }

  // MARK: Settling

  @discardableResult
  func settle(_ promise: ReferencePromise, _ outcome: Settlement) -> Bool {
    if let rejection = outcome.rejection { rejections.append(rejection) }
    let isSettled = promise.outcome != nil
    // A call that is too late is ignored, including its error.
    if isSettled { outcome.rejection?.isHandled = true }
    guard !isSettled || fault == .settlesTwice else { return false }
    var followed: [Observer] = []
    if case .resolver(let hooks) = promise.feed { followed = hooks.followers }
    let observers = promise.observers
    promise.outcome = outcome
    promise.feed = .nothing
    promise.observers = []
    promise.takers = observers.count
    if observers.isEmpty, promise.hasBeenLeft { outcome.rejection?.isHandled = true }
    deliver(observers)
    for follower in followed { leave(follower) }
    return true
  }

  /// Settles an operator's promise; after cancellation it can't be fulfilled.
  func finish(_ promise: ReferencePromise, _ outcome: Settlement) {
    if promise.isCancelled, outcome.rejection == nil {
      reject(promise, .cancelled)
    } else {
      settle(promise, outcome)
    }
  }

  @discardableResult
  func reject(_ promise: ReferencePromise, _ failure: Failure) -> Bool {
    // The error of a cancelled consumer isn't reported.
    settle(promise, .rejection(Rejection(failure, isSilent: promise.isCancelled)))
  }

  /// Delivers to observers with an executor, then to those that only pass the result on, and
  /// finally to closures that run in place.
  func deliver(_ observers: [Observer]) {
    let all = fault == .wrongOrder ? observers.reversed() : observers
    let inPlace = all.filter { observer in
      guard let executor = observer.executorForOutcome else { return true }
      executor.jobs.append(observer)
      return false
    }
    let closures = inPlace.filter { $0.hasClosure && $0.executor == nil }
    for observer in inPlace.filter({ !$0.hasClosure || $0.executor != nil }) + closures {
      perform { self.start(observer, inPlace: true) }
    }
  }

  // MARK: Observing

  func attach(_ observer: Observer, to promise: ReferencePromise) {
    if promise.outcome != nil {
      promise.takers += 1
      return deliver([observer])
    }
    if fault == .lostObserver, promise.observers.count == 2 { return }
    promise.observers.append(observer)
  }

  private var depth = 0
  private var deferred: [() -> Void] = []

  /// Runs a job in place, nested at most 24 deep.
  func perform(_ job: @escaping () -> Void) {
    if depth == 24 { return deferred.append(job) }
    depth += 1
    job()
    while depth == 1, !deferred.isEmpty { deferred.removeFirst()() }
    depth -= 1
  }

  /// Runs an observer on its executor, or in place if it has none for the result.
  func start(_ observer: Observer, inPlace: Bool = false) {
    guard !observer.isTaken, let run = observer.run else { return }
    // Cancelled before its turn in place: its executor runs it.
    if inPlace, observer.executorForOutcome != nil { return }
    observer.isTaken = true
    let source = observer.source
    let outcome = observer.isDetached ? .rejection(observer.replacement) : source?.outcome
    observer.source = nil
    observer.run = nil
    // The error of a cancelled consumer counts as handled, unless there are other consumers.
    if observer.promise?.isCancelled == true, observer.isDetached || (source?.takers ?? 0) <= 1 {
      outcome?.rejection?.isHandled = true
    }
    run(outcome ?? .rejection(observer.replacement))
    if fault == .doubleRun, observer.wantsValue, observer.wantsRejection {
      run(.rejection(Rejection(.cancelled)))
    }
  }

  /// Returns a promise for the result of a handler; `isOurs` means that the handler isn't the
  /// program's.
  func derive(
    _ source: ReferencePromise, _ executor: Executor? = nil, wantsValue: Bool = false,
    wantsRejection: Bool = false, isShield: Bool = false, hearsAbandonment: Bool = false,
    isOurs: Bool = false, _ run: @escaping (ReferencePromise, Settlement) -> Void
  ) -> ReferencePromise {
    let observer = Observer(
      source, executor: executor, wantsValue: wantsValue, wantsRejection: wantsRejection,
      isShield: isShield, hasClosure: !isOurs && (wantsValue || wantsRejection))
    let promise = ReferencePromise(.observer(observer))
    observer.promise = promise
    observer.run = { [self] outcome in
      if case .abandoned = outcome, !hearsAbandonment {
        finish(promise, outcome)
      } else {
        run(promise, outcome)
      }
    }
    attach(observer, to: source)
    return promise
  }

  /// Makes `outer` settle as `inner`, which its handler returned.
  func adopt(_ inner: ReferencePromise, by outer: ReferencePromise) {
    if inner === outer {
      reject(outer, .returnedItself)
      return
    }
    if outer.isCancelled {
      // The promise has no other consumer.
      if let outcome = inner.outcome {
        if inner.takers == 0 { outcome.rejection?.isHandled = true }
      } else if inner.observers.isEmpty, !inner.isKept {
        inner.hasBeenLeft = true
        cancel(inner)
      }
      reject(outer, .cancelled)
      return
    }
    let observer = Observer(inner)
    observer.promise = outer
    observer.run = { [self] in finish(outer, $0) }
    outer.feed = .observer(observer)
    if let outcome = inner.outcome {
      inner.takers += 1
      finish(outer, outcome)
    } else {
      attach(observer, to: inner)
    }
  }

  var unhandled: ArraySlice<Failure> {
    var seen: Set<ObjectIdentifier> = []
    let all = rejections.filter { !$0.isHandled && seen.insert(ObjectIdentifier($0.root)).inserted }
    return all.map(\.failure).dropLast(fault == .forgetsToReport ? 1 : 0)
  }
}

extension Observer {
  /// Its executor, if it is used for the result that the observer receives.
  fileprivate var executorForOutcome: Executor? {
    if isDetached { return wantsRejection ? executor : nil }
    switch source?.outcome {
    case .value: return wantsValue ? executor : nil
    case .rejection: return wantsRejection ? executor : nil
    case .abandoned, nil: return nil
    }
  }
}
