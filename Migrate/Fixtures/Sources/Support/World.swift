import Dispatch
import Foundation
import PromiseKit
import Promises

/// An error of a fixture.
public enum Failure: Error, Equatable {
  case broken(Int)
  case wrong
}

// `@unchecked Sendable`: `lock` guards the entries and the counter.
/// Where a fixture's work runs and what it records: the same seed gives the same results.
public final class World: @unchecked Sendable {
  private let lock = NSLock()
  private var entries: [String] = []
  private var pending = 0
  private let seed: UInt64
  /// Serial, so that the order in which work ends is always the same.
  private let other = DispatchQueue(label: "other")
  /// A queue for handlers, on the thread of the main queue, so that both take turns.
  public let queue = DispatchQueue(label: "queue", target: .main)
  private var kept: [AnyObject] = []

  /// Creates a world in which `seed` decides which work fails, and when it ends.
  public init(seed: UInt64) {
    self.seed = seed
    DispatchQueue.main.setSpecific(key: Self.name, value: "main")
    queue.setSpecific(key: Self.name, value: "queue")
  }

  /// Set for queues, because the main queue doesn't stay on the first thread on Linux.
  private static let name = DispatchSpecificKey<String>()

  /// Records an entry with the kind of thread that adds it.
  public func log(_ text: String) {
    let thread = DispatchQueue.getSpecific(key: Self.name) ?? "other"
    lock.lock()
    entries.append("\(text) [\(thread)]")
    lock.unlock()
  }

  /// Keeps an object as long as this one.
  public func keep(_ object: AnyObject) { kept.append(object) }

  /// The entries so far.
  public var recorded: [String] {
    lock.lock()
    defer { lock.unlock() }
    return entries
  }

  /// Whether no work is in progress.
  public var isIdle: Bool {
    lock.lock()
    defer { lock.unlock() }
    return pending == 0
  }

  private func count(_ change: Int) {
    lock.lock()
    pending += change
    lock.unlock()
  }

  private func draw(_ id: Int, _ salt: UInt64) -> UInt64 {
    var state = seed &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(id) &* 0xBF58_476D_1CE4_E5B9 &+ salt
    state = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
    state = (state ^ (state >> 27)) &* 0x94D0_49BB_1331_11EB
    return state ^ (state >> 31)
  }

  /// The result of step `id`.
  public func outcome(_ id: Int, _ value: Int) -> Swift.Result<Int, any Error> {
    switch draw(id, 1) % 8 {
    case 0: .failure(Failure.broken(id))
    case 1: .failure(PMKError.cancelled)
    default: .success(value &+ id)
    }
  }

  /// A synchronous step, which can throw.
  public func compute(_ id: Int, _ value: Int) throws -> Int {
    log("compute \(id) of \(value)")
    return try outcome(id, value).get()
  }

  /// Calls `work` inside this call, later on the main queue, or later on another queue.
  private func perform(_ id: Int, _ work: @escaping @Sendable () -> Void) {
    switch draw(id, 2) % 3 {
    case 0: work()
    case 1:
      count(1)
      DispatchQueue.main.async {
        work()
        self.count(-1)
      }
    default:
      count(1)
      // Two calls end in the order in which they started, also on different queues.
      DispatchQueue.main.async {
        let isDone = DispatchSemaphore(value: 0)
        self.other.async {
          work()
          isDone.signal()
        }
        isDone.wait()
        self.count(-1)
      }
    }
  }

  /// A promise of PromiseKit that settles as the seed decides.
  public func start(_ id: Int, _ value: Int) -> PromiseKit.Promise<Int> {
    log("start \(id) with \(value)")
    let (promise, resolver) = PromiseKit.Promise<Int>.pending()
    let outcome = outcome(id, value)
    perform(id) {
      switch outcome {
      case .success(let value): resolver.fulfill(value)
      case .failure(let error): resolver.reject(error)
      }
    }
    return promise
  }

  /// A promise of Google's library that settles as the seed decides.
  public func begin(_ id: Int, _ value: Int) -> Promises.Promise<Int> {
    log("begin \(id) with \(value)")
    let promise = Promises.Promise<Int>.pending()
    let outcome = outcome(id, value)
    perform(id) {
      switch outcome {
      case .success(let value): promise.fulfill(value)
      case .failure(let error): promise.reject(error)
      }
    }
    return promise
  }
}

/// A fixture: a name, and a function that starts it.
public struct Scenario {
  /// The name.
  public let name: String
  /// Starts the fixture.
  public let run: (World) -> Void

  /// Creates a fixture that `run` starts.
  public init(_ name: String, _ run: @escaping (World) -> Void) {
    self.name = name
    self.run = run
  }

  /// A fixture that returns a promise of PromiseKit, whose result is recorded.
  public init<T>(_ name: String, result: @escaping (World) -> PromiseKit.Promise<T>) {
    self.init(name) { world in
      world.log("call")
      result(world).tap { world.log("result \(describe($0))") }.cauterize()
      world.log("returned")
    }
  }

  /// A fixture that returns a promise of Google's library, whose result is recorded.
  public init<T>(_ name: String, googleResult: @escaping (World) -> Promises.Promise<T>) {
    self.init(name) { world in
      world.log("call")
      googleResult(world).then { world.log("result \($0)") }
        .catch { world.log("error \($0)") }
      world.log("returned")
    }
  }
}

private func describe<T>(_ result: PromiseKit.Result<T>) -> String {
  switch result {
  case .fulfilled(let value): "value \(value)"
  case .rejected(let error): "error \(error)"
  }
}
