import Dispatch
import Synchronization

/// Something that runs handlers: where a promise's closures are executed.
///
/// `DispatchQueue` conforms, and so do the executors that can be named by `.main`, `.immediate`,
/// `.global` and `.actor(_:)`. To run handlers somewhere else, conform a type of your own:
///
/// ```swift
/// struct LoopExecutor: PromiseExecutor {
///   let loop: MyLoop
///   func enqueue(_ job: PromiseJob) { loop.execute { job.run() } }
/// }
/// ```
public protocol PromiseExecutor: Sendable {
  /// Has `job` run soon, once, and not inside this call.
  ///
  /// Jobs must run in the order in which they were enqueued if handlers are to run in the order in
  /// which they were attached. A job that is let go without having run rejects its promise with
  /// ``BrokenPromise``.
  func enqueue(_ job: PromiseJob)

  /// How the engine reaches this executor. Implemented for you.
  var _target: _HandlerTarget { get }
}

extension PromiseExecutor {
  /// How the engine reaches this executor: through ``enqueue(_:)``.
  public var _target: _HandlerTarget { _HandlerTarget(scheduler: CustomScheduler(self)) }
}

/// Where the engine sends a handler.
///
/// Not API.
///
/// `@unchecked Sendable`: an immutable reference to a thread-safe object, a queue or a scheduler.
public struct _HandlerTarget: @unchecked Sendable {
  @usableFromInline let object: AnyObject?
  @usableFromInline let flags: UInt64

  init(scheduler: Scheduler) {
    object = scheduler
    flags = 0
  }

  @usableFromInline
  init(queue: DispatchQueue) {
    object = queue
    flags = Cell.Input.queueTarget
  }

  @inlinable
  init(immediate: Void) {
    object = nil
    flags = 0
  }

  /// Where a closure with this isolation runs.
  @usableFromInline
  init(isolation: (any Actor)?) {
    guard let isolation else {
      self.init(queue: GlobalExecutor.queue)
      return
    }
    if isolation === MainActor.shared {
      self.init(scheduler: MainScheduler.shared)
    } else {
      self.init(scheduler: ActorScheduler.of(isolation))
    }
  }
}

/// The engine's side of an executor that batches or wraps.
class Scheduler: @unchecked Sendable {
  /// Has the handler performed soon, in order.
  func enqueue(_ handler: Handler) { fatalError("Pledge: abstract") }

  /// What traces call it.
  var name: String { fatalError("Pledge: abstract") }

  /// What traces know it by, if anything.
  var identity: AnyObject? { self }
}

/// A handler on its way to the executor that shall run it.
public struct PromiseJob: Sendable {
  private let token: Token

  init(_ handler: Handler) { token = Token(handler) }

  /// Runs the handler.
  ///
  /// A second call does nothing.
  public func run() {
    token.run()
  }

  private final class Token: Sendable {
    let handler: Handler
    // A handler that has run may wait again, for the promise that it returned.
    let hasRun = Atomic(false)

    init(_ handler: Handler) { self.handler = handler }

    func run() {
      if !hasRun.exchange(true, ordering: .acquiringAndReleasing) { handler.perform() }
    }

    deinit {
      if hasRun.load(ordering: .acquiring) { return }
      guard let source = handler.takeSlot() else { return }
      withExtendedLifetime(source) {}
      handler.dropBody()
      handler.reject(
        Rejection(BrokenPromise(origin: nil, reason: .executorDroppedJob), origin: nil))
    }
  }
}

private final class CustomScheduler<Executor: PromiseExecutor>: Scheduler, @unchecked Sendable {
  let executor: Executor
  init(_ executor: Executor) { self.executor = executor }

  override func enqueue(_ handler: Handler) { executor.enqueue(PromiseJob(handler)) }
  override var name: String { "\(Executor.self)" }
  // This object is made anew for each handler; the executor may be an object that is not.
  override var identity: AnyObject? {
    Executor.self is AnyObject.Type ? executor as AnyObject : nil
  }
}

// MARK: - Executors by name

/// Runs handlers in place: inside the call that settles the promise, or inside the call that
/// attaches the handler if the promise is settled already.
///
/// The one executor that opts out of the clean stack. Handlers that settle promises whose handlers
/// are immediate nest, but only 24 deep; deeper ones run when the outermost one has returned.
public struct ImmediateExecutor: PromiseExecutor {
  @inlinable init() {}

  /// Runs the job here.
  public func enqueue(_ job: PromiseJob) { job.run() }
  /// Reaches the engine's own trampoline.
  @inlinable public var _target: _HandlerTarget { _HandlerTarget(immediate: ()) }
}

/// Runs handlers on the global concurrent queue, several at a time.
public struct GlobalExecutor: PromiseExecutor {
  private static let globalQueue = DispatchQueue.global()
  @usableFromInline static var queue: DispatchQueue {
    remembered(in: &globalQueueWord, globalQueue).takeUnretainedValue()
  }

  /// Has the job run on the global concurrent queue.
  public func enqueue(_ job: PromiseJob) { Self.queue.async { job.run() } }
  /// Reaches the global queue without a wrapper.
  @inlinable public var _target: _HandlerTarget { _HandlerTarget(queue: Self.queue) }
}

/// Where the global queue's object lies.
///
/// `nonisolated(unsafe)`: only touched atomically.
@exclusivity(unchecked) nonisolated(unsafe) private var globalQueueWord: UInt = 0

/// Runs handlers on the main actor, which is the main thread.
public struct MainExecutor: PromiseExecutor {
  /// Has the job run on the main actor.
  public func enqueue(_ job: PromiseJob) { DispatchQueue.main.async { job.run() } }
  /// Reaches the main actor's turns.
  public var _target: _HandlerTarget { _HandlerTarget(scheduler: MainScheduler.shared) }
}

/// Runs handlers on an actor, one at a time and in order.
public struct ActorExecutor: PromiseExecutor {
  let actor: any Actor

  /// Has the job run on the actor.
  public func enqueue(_ job: PromiseJob) { ActorScheduler.hop(to: actor) { job.run() } }
  /// Reaches the actor's turns.
  public var _target: _HandlerTarget { _HandlerTarget(isolation: actor) }
}

extension PromiseExecutor where Self == ImmediateExecutor {
  /// Runs handlers in place, on whichever thread settles the promise.
  @inlinable public static var immediate: ImmediateExecutor { ImmediateExecutor() }
}

extension PromiseExecutor where Self == GlobalExecutor {
  /// Runs handlers on the global concurrent queue.
  public static var global: GlobalExecutor { GlobalExecutor() }
}

extension PromiseExecutor where Self == MainExecutor {
  /// Runs handlers on the main actor.
  public static var main: MainExecutor { MainExecutor() }
}

extension PromiseExecutor where Self == ActorExecutor {
  /// Runs handlers on `actor`.
  public static func actor(_ actor: any Actor) -> ActorExecutor { ActorExecutor(actor: actor) }
}

extension DispatchQueue: PromiseExecutor {
  /// Has the job run on this queue.
  public func enqueue(_ job: PromiseJob) { async { job.run() } }
  /// Reaches this queue's turns.
  public var _target: _HandlerTarget {
    MainThread.isServed(by: self)
      ? _HandlerTarget(scheduler: MainScheduler.shared) : _HandlerTarget(queue: self)
  }
}
