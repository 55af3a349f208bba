@testable import Pledge

extension Lifetimes {
  /// Everything that an operator starts or retains is released immediately, however its promise
  /// loses its purpose.
  @Suite struct Releases {
    // In a process of its own, one case after the other, because it counts the timers of the
    // process.
    @Test func nothingIsLeft() async {
      await #expect(processExitsWith: .success) {
        for holder in Holder.all {
          for ending in Ending.allCases {
            try await Releases.expectNothing(left: holder, by: ending)
          }
        }
      }
    }

    private static func expectNothing(left holder: Holder, by ending: Ending) async throws {
      let name: Comment = "\(holder.name), \(ending)"
      let held = Held()
      let promise = holder.start(held)
      // Work that starts in a task or on an executor must have started.
      await held.clock.sleepers(atLeast: holder.sleepers)
      await held.started.reaches(holder.sources).value
      // The closures on the main actor have returned, so the operator has their results.
      await MainActor.run {}
      #expect(held.count > 0, name)

      switch ending {
      case .cancelled:
        promise.cancel()
        try await expectCancellation(of: promise)
      case .timedOut:
        try await expectRejection(of: promise.timeout(after: .zero), with: TimeoutError.self)
      case .lostRace: try await expectFulfillment(of: Promise.race(promise, .value(1)), with: 1)
      case .lostAny: try await expectFulfillment(of: Promise.any(promise, .value(1)), with: 1)
      case .failedAll:
        let all = Promise.all([promise, .rejected(Boom())], cancellingRest: true)
        try await expectRejection(of: all, with: Boom())
      case .awaitingTaskCancelled:
        let task = Task { [promise] in try await promise.value }
        task.cancel()
        _ = await task.result
      }
      // Checked before other threads can run: this thread alone released everything.
      #expect(held.pending == 0, name)
      // A task is cancelled immediately, but ends when it is next scheduled.
      await held.clock.noSleepers()
      try await held.lifetimes.expectNoneAlive()
      #expect(TimerHeap.shared.count == 0, name)
    }

    /// How a promise loses its purpose.
    enum Ending: CaseIterable {
      case cancelled, timedOut, lostRace, lostAny, failedAll, awaitingTaskCancelled
    }

    /// The resources in use, counted.
    final class Held: Sendable {
      let clock = TestClock()
      let lifetimes = LifetimeTracker()
      let sources = Box(0)
      /// Receives an event when a source starts.
      let started = Recorder<Void>()

      /// The number of resources that must be released without another thread's help.
      var pending: Int { TimerHeap.shared.count + sources.value }
      var count: Int { pending + clock.sleeperCount + lifetimes.liveCount }

      /// Returns a pending promise whose producer stops when it is cancelled.
      func source() -> Promise<Int> {
        sources.update { $0 += 1 }
        defer { started.record(()) }
        let token = lifetimes.track("producer")
        return Promise { resolver in
          resolver.onCancel { [sources] in
            sources.update { $0 -= 1 }
            _ = token
            resolver.reject(CancellationError())
          }
        }
      }
    }

    /// An operator that starts or retains something.
    struct Holder: Sendable {
      let name: String
      /// The number of tasks that sleep on the test clock once all work has started.
      var sleepers = 0
      /// The number of producers that are started.
      var sources = 0
      let start: @Sendable (Held) -> Promise<Int>

      static let hour = Duration.seconds(3600)

      static let all: [Holder] = [
        Holder(name: "after") { _ in Promise<Void>.after(hour).map(on: .immediate) { 1 } },
        Holder(name: "after on a clock", sleepers: 1) { held in
          Promise<Void>.after(hour, clock: held.clock).map(on: .immediate) { 1 }
        },
        Holder(name: "delay") { _ in Promise.value(1).delay(hour) },
        Holder(name: "timeout", sources: 1) { held in held.source().timeout(after: hour) },
        Holder(name: "timeout on a clock", sleepers: 1, sources: 1) { held in
          held.source().timeout(after: hour, clock: held.clock)
        },
        Holder(name: "deadline", sources: 1) { held in held.source().deadline(.now + hour) },
        Holder(name: "retry between attempts") { _ in
          Promise.retry(on: .immediate, .fixed(attempts: 3, delay: hour)) { .rejected(Boom()) }
        },
        Holder(name: "retry within an attempt", sources: 1) { held in
          Promise.retry(on: .immediate, .fixed(attempts: 3)) { held.source() }
        },
        Holder(name: "all, bounded", sources: 3) { held in
          Promise.all(1...9, concurrently: 3) { @MainActor _ in held.source() }
            .map(on: .immediate) { $0[0] }
        },
        Holder(name: "Limiter", sources: 1) { held in
          Limiter(1).run { @MainActor in held.source() }
        },
        Holder(name: "RequestCoalescer", sources: 1) { held in
          RequestCoalescer<String, Int>().promise(for: "key") { held.source() }
        },
        Holder(name: "using", sources: 1) { held in
          let resource = Promise.value(held.lifetimes.track("resource"))
          return .using(resource, release: { _ in }) { @MainActor _ in held.source() }
        },
        Holder(name: "then", sources: 1) { held in
          Promise.value(1).then(on: .immediate) { _ in held.source() }
        },
        Holder(name: "all", sources: 2) { held in
          Promise.all([held.source(), held.source()]).map(on: .immediate) { $0[0] }
        },
        Holder(name: "allSettled", sources: 2) { held in
          Promise.allSettled([held.source(), held.source()]).promise.map(on: .immediate, \.count)
        },
        Holder(name: "race", sources: 2) { held in Promise.race(held.source(), held.source()) },
        Holder(name: "any", sources: 2) { held in Promise.any(held.source(), held.source()) },
        Holder(name: "async closure", sleepers: 1) { held in
          let token = held.lifetimes.track("task")
          return Promise { () async throws -> Int in
            try await held.clock.sleep(for: hour)
            return token.label.count
          }
        },
      ]
    }
  }
}
