import Dispatch
import Pledge
import PledgeTesting
import Testing

/// Handlers of one promise on one serial queue run in order, whatever its other observers are.
@Suite struct OrderOnQueues {
  /// Another observer of the promise, attached after the two handlers on the queue.
  enum Third: CaseIterable {
    case `catch`
    case asVoid
    case immediate
    case all
    case uncancellable
    case none
  }

  @Test(arguments: Third.allCases)
  func handlersOnOneQueue_withAnotherObserver_runInOrder(third: Third) async throws {
    let queue = DispatchQueue(label: "order")
    for _ in 0..<50 {
      let heard = Recorder<Int>()
      let (start, resolver) = Promise<Void>.withResolvers()
      // Settled by a handler on the same queue, so that its turn could continue with one of the
      // two.
      let promise = start.map(on: queue) { 1 }
      let first = promise.done(on: queue) { _ in heard.record(1) }
      let second = promise.done(on: queue) { _ in heard.record(2) }
      switch third {
      case .catch: promise.catch(on: queue) { _ in }
      case .asVoid: promise.asVoid().ignoreErrors()
      case .immediate: promise.done(on: .immediate) { _ in }.ignoreErrors()
      case .all: Promise<[Int]>.all([promise]).ignoreErrors()
      case .uncancellable: promise.uncancellable().ignoreErrors()
      case .none: break
      }
      resolver.fulfill()
      try await expectFulfillment(of: first)
      try await expectFulfillment(of: second)
      #expect(heard.events == [1, 2])
    }
  }

  @Test(arguments: [nil, DispatchGroup()])
  func handlersOnOneQueue_ofDifferentExecutors_runInOrder(group: DispatchGroup?) async throws {
    let queue = DispatchQueue(label: "order")
    for _ in 0..<50 {
      let heard = Recorder<Int>()
      let (start, resolver) = Promise<Void>.withResolvers()
      let (inner, innerResolver) = Promise<Void>.withResolvers()
      let first = inner.done(on: QueueExecutor(queue, group: group)) { heard.record(1) }
      // The turn of this handler could continue with the next one, but the queue has another one.
      let second = start.map(on: queue) { innerResolver.fulfill() }.done(on: queue) {
        heard.record(2)
      }
      resolver.fulfill()
      try await expectFulfillment(of: first)
      try await expectFulfillment(of: second)
      #expect(heard.events == [1, 2])
    }
  }

  @Test(arguments: [nil, DispatchGroup()])
  func aQueueExecutor_leavesTheProgramItsPlace(group: DispatchGroup?) async throws {
    let queue = DispatchQueue(label: "visits")
    let heard = Recorder<Int>()
    let executor = QueueExecutor(queue, group: group)
    let chain = Promise.value(()).map(on: executor) {
      queue.async { heard.record(1) }
    }.done(on: executor) { heard.record(2) }
    try await expectFulfillment(of: chain)
    #expect(heard.events == [1, 2])
    group?.wait()
  }

  @Test func handlersAttachedInsideEnqueue_keepTheirPlace() async throws {
    // An executor can attach handlers while it receives a job: they come after those attached
    // before.
    let manual = ManualExecutor()
    let heard = Recorder<Int>()
    let (promise, resolver) = Promise<Int>.withResolvers()
    let attaching = AttachingExecutor(manual: manual) {
      promise.done(on: manual) { _ in heard.record(3) }.ignoreErrors()
    }
    promise.done(on: attaching) { _ in heard.record(1) }.ignoreErrors()
    promise.done(on: manual) { _ in heard.record(2) }.ignoreErrors()
    resolver.fulfill(1)
    manual.runAll()
    #expect(heard.events == [1, 2, 3])
  }
}

/// Calls a closure when it receives its first job.
private final class AttachingExecutor: PromiseExecutor {
  let manual: ManualExecutor
  private let onFirst: Box<(@Sendable () -> Void)?>

  init(manual: ManualExecutor, onFirst: @escaping @Sendable () -> Void) {
    self.manual = manual
    self.onFirst = Box(onFirst)
  }

  func enqueue(_ job: PromiseJob) {
    let first = onFirst.value
    onFirst.value = nil
    manual.enqueue(job)
    first?()
  }
}
