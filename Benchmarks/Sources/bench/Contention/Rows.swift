import Dispatch
import Pledge

/// A kind of work that several threads do at once.
struct ContentionRow: Sendable {
  /// Does one unit of work and calls `done` when it has ended.
  typealias Work =
    @Sendable (_ thread: Int, _ unit: Int, _ done: @escaping @Sendable () -> Void) -> Void

  let name: String
  /// Each makes the work for a number of threads.
  let pledge: (@Sendable (Int) -> Work)?
  let actor: (@Sendable (Int) -> Work)?
  let mutex: (@Sendable (Int) -> Work)?

  private static func key(_ thread: Int, _ unit: Int) -> Int { thread << 40 | unit }

  /// Puts each unit into a table that a mutex guards, and takes it out again.
  private static let mutexTable: @Sendable (Int) -> Work = { _ in
    let table = Locked<[Int: @Sendable () -> Void]>([:])
    return { thread, unit, done in
      table.with { $0[key(thread, unit)] = done }
      table.with { $0.removeValue(forKey: key(thread, unit)) }?()
    }
  }

  static let all: [ContentionRow] = [
    ContentionRow(
      name: "coalescer, distinct keys",
      pledge: { _ in
        let coalescer = RequestCoalescer<Int, Int>()
        return promises { thread, unit in
          coalescer.promise(for: key(thread, unit)) { .value(unit) }
        }
      },
      actor: { _ in
        let requests = TaskDictionary()
        return tasks { thread, unit in
          _ = try? await requests.value(for: key(thread, unit)) { unit }
        }
      },
      mutex: { _ in
        let running = Locked<[Int: [@Sendable () -> Void]]>([:])
        return { thread, unit, done in
          let key = key(thread, unit)
          running.with { $0[key, default: []].append(done) }
          for done in running.with({ $0.removeValue(forKey: key) }) ?? [] { done() }
        }
      }),
    ContentionRow(
      name: "coalescer, one cached key",
      pledge: { _ in
        let coalescer = RequestCoalescer<Int, Int>(
          caching: CoalescerCaching(lifetime: .seconds(3600)))
        return promises { _, _ in coalescer.promise(for: 1) { .value(1) } }
      },
      actor: { _ in
        let cache = HandCache()
        return tasks { _, _ in _ = await cache.value(1) { 1 } }
      },
      mutex: { _ in
        let values = Locked([1: 1])
        return { _, _, done in
          consume(values.with { $0[1] } ?? 0)
          done()
        }
      }),
    ContentionRow(
      name: "Limiter.run",
      pledge: { _ in
        let limiter = Limiter(8)
        return promises { _, _ in limiter.run(on: .immediate) { Promise.value(1) } }
      },
      actor: { _ in
        let semaphore = SemaphoreActor(8)
        return tasks { _, _ in
          await semaphore.wait()
          await semaphore.signal()
        }
      },
      mutex: { _ in
        let free = Locked((count: 8, waiting: [@Sendable () -> Void]()))
        return { thread, unit, done in
          let mayRun = free.with { free in
            if free.count == 0 {
              free.waiting.append(done)
              return false
            }
            free.count -= 1
            return true
          }
          guard mayRun else { return }
          var next: (@Sendable () -> Void)? = done
          while let run = next {
            run()
            next = free.with { free in
              if free.waiting.isEmpty { free.count += 1 }
              return free.waiting.popLast()
            }
          }
        }
      }),
    ContentionRow(
      name: "bound(to:)",
      pledge: { _ in
        let scope = PromiseScope()
        return settledPromises { promise in promise.bound(to: scope) }
      },
      actor: { _ in
        let scope = HandScope()
        return tasks { thread, unit in
          await scope.add(key(thread, unit)) {}
          await scope.remove(key(thread, unit))
        }
      },
      mutex: mutexTable),
    ContentionRow(
      name: "Promise.after, cancelled",
      pledge: { _ in
        { _, _, done in
          let promise = Promise<Void>.after(.seconds(3600))
          promise.finally(on: .immediate) { done() }.ignoreErrors()
          promise.cancel()
        }
      },
      actor: { _ in
        { _, _, done in
          let task = Task {
            try? await Task.sleep(for: .seconds(3600))
            done()
          }
          task.cancel()
        }
      },
      mutex: mutexTable),
    ContentionRow(
      name: "timeout",
      pledge: { _ in settledPromises { promise in promise.timeout(after: .seconds(3600)) } },
      actor: { _ in
        tasks { _, unit in
          _ = await withTaskGroup(of: Int?.self) { group in
            group.addTask { unit }
            group.addTask {
              try? await Task.sleep(for: .seconds(3600))
              return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
          }
        }
      },
      mutex: mutexTable),
    ContentionRow(
      name: "retry",
      pledge: { _ in
        promises { _, unit in
          Promise<Int>.retry(on: .immediate, .fixed(attempts: 3)) { .value(unit) }
        }
      },
      actor: { _ in tasks { _, unit in for _ in 0..<3 where await attempt(unit) { break } } },
      mutex: nil),
    onActors("actor for each thread", isShared: false),
    onActors("one shared actor", isShared: true),
    ContentionRow(
      name: "queue for each thread",
      pledge: { threads in
        let queues = (0..<threads).map { DispatchQueue(label: "bench.\($0)") }
        return { thread, unit, done in
          Promise.value(unit).done(on: queues[thread]) { _ in done() }.ignoreErrors()
        }
      },
      actor: handActors, mutex: nil),
    ContentionRow(
      name: "one shared promise",
      pledge: { _ in
        let shared = Locked(Promise<Void>.withResolvers())
        // The last one stays pending.
        shared.with { $0.promise }.ignoreErrors()
        return { _, unit, done in
          let (promise, resolver) = shared.with { $0 }
          promise.done(on: .immediate) { done() }.ignoreErrors()
          if unit % Lane.batch == Lane.batch - 1 {
            resolver.fulfill()
            shared.with { shared in
              if shared.promise == promise {
                shared = Promise<Void>.withResolvers()
                shared.promise.ignoreErrors()
              }
            }
          }
        }
      },
      actor: { _ in
        let shared = HandPromise()
        return { _, unit, done in
          Task {
            await shared.observe(done)
            // The units of a batch can run in any order.
            await shared.settle()
          }
        }
      },
      mutex: { _ in
        let observers = Locked<[@Sendable () -> Void]>([])
        return { _, unit, done in
          observers.with { $0.append(done) }
          if unit % Lane.batch == Lane.batch - 1 {
            for observer in observers.with({ list in
              defer { list = [] }
              return list
            }) { observer() }
          }
        }
      }),
  ]

  /// Work that ends with the promise that `start` returns.
  private static func promises(
    _ start: @escaping @Sendable (_ thread: Int, _ unit: Int) -> Promise<Int>
  ) -> Work {
    { thread, unit, done in
      start(thread, unit).done(on: .immediate) { _ in done() }.ignoreErrors()
    }
  }

  /// Work that settles a promise after `transform` has been applied to it.
  private static func settledPromises(
    _ transform: @escaping @Sendable (Promise<Int>) -> Promise<Int>
  ) -> Work {
    { _, unit, done in
      let (promise, resolver) = Promise<Int>.withResolvers()
      transform(promise).done(on: .immediate) { _ in done() }.ignoreErrors()
      resolver.fulfill(unit)
    }
  }

  /// Work of a task, which ends with it.
  private static func tasks(
    _ body: @escaping @Sendable (_ thread: Int, _ unit: Int) async -> Void
  ) -> Work {
    { thread, unit, done in
      Task {
        await body(thread, unit)
        done()
      }
    }
  }

  /// Work on one of `count` actors.
  @Sendable private static func handActors(_ count: Int) -> Work {
    let actors = (0..<count).map { _ in HandCache() }
    return { thread, _, done in Task { await actors[thread % actors.count].run(done) } }
  }

  private static func onActors(_ name: String, isShared: Bool) -> ContentionRow {
    ContentionRow(
      name: name,
      pledge: { threads in
        let actors = (0..<(isShared ? 1 : threads)).map { _ in HandCache() }
        return { thread, unit, done in
          Promise.value(unit).done(on: .actor(actors[thread % actors.count])) { _ in done() }
            .ignoreErrors()
        }
      },
      actor: { threads in handActors(isShared ? 1 : threads) },
      mutex: { threads in
        let locks = (0..<(isShared ? 1 : threads)).map { _ in Locked(()) }
        return { thread, unit, done in locks[thread % locks.count].with { _ in done() } }
      })
  }
}

// MARK: - Written by hand

private actor HandCache {
  private var values: [Int: Int] = [:]

  func value(_ key: Int, _ work: () -> Int) -> Int {
    if let value = values[key] { return value }
    let value = work()
    values[key] = value
    return value
  }

  func run(_ body: () -> Void) { body() }
}

private actor HandScope {
  private var cancels: [Int: @Sendable () -> Void] = [:]

  func add(_ id: Int, _ cancel: @escaping @Sendable () -> Void) { cancels[id] = cancel }
  func remove(_ id: Int) { cancels[id] = nil }
}

private actor HandPromise {
  private var observers: [@Sendable () -> Void] = []

  func observe(_ observer: @escaping @Sendable () -> Void) { observers.append(observer) }

  func settle() {
    let all = observers
    observers = []
    for observer in all { observer() }
  }
}

@Sendable private func attempt(_ unit: Int) async -> Bool { unit >= 0 }
