@_spi(DropIns) import Pledge
@testable import PledgeDiagnostics

extension TraceTests {
  @Suite struct ErrorPathTests {
    /// Returns what each step says, up to the name of a thread or a location.
    private func events(_ path: ErrorPath?) -> [String] {
      path?.steps.map { step in
        let words = step.description.components(separatedBy: ": ").last ?? ""
        return words.components(separatedBy: " on ")[0].components(separatedBy: " at ")[0]
      } ?? []
    }

    @Test func errorOfAHandler_isFollowedBackToTheThrow() throws {
      try tracing { trace in
        let promise = Promise.value(1)
        let line = #line + 1
        let thrown = promise.map(on: .immediate) { _ -> Int in throw Oops() }
        let passed = thrown.map(on: .immediate) { $0 }
        let seen = passed.tap(on: .immediate) { _ in }
        seen.catch(on: .immediate) { _ in }
        let steps = ["rejected by its handler", "passed on", "seen by its handler"]
        for (index, promise) in [thrown, passed, seen].enumerated() {
          let path = try #require(trace.errorPath(of: promise))
          #expect(path.error is Oops)
          #expect(events(path) == Array(steps[...index]))
        }
        let path = try #require(trace.errorPath(of: seen))
        #expect(path.steps.map(\.promise).first == thrown.id)
        #if os(Linux)
          #expect(path.steps.map(\.operation) == ["map", "map", "tap"])
          #expect(path.steps.first?.location?.line == line)
        #endif
        #expect(path.description.contains(": rejected by its handler on "))
      }
    }

    @Test func rejectionByAResolver_tellsWhereAndInWhichHandler() throws {
      try tracing { trace in
        let (promise, resolver) = Promise<Int>.withResolvers()
        let line = #line + 1
        let culprit = Promise.value(1).done(on: .immediate) { _ in resolver.reject(Oops()) }
        let recovered = promise.recover(on: .immediate) { _ in .value(2) }
        let path = try #require(trace.errorPath(of: promise))
        #expect(events(path) == ["rejected"])
        #expect(path.description.contains("in the handler of #2"))
        #if os(Linux)
          #expect(
            path.description.contains(
              "rejected at PledgeDiagnosticsTests/ErrorPathTests.swift:\(line)"))
        #endif
        withExtendedLifetime((culprit, recovered)) {}
      }
    }

    @Test func rejectionInTheMemoryOfAnEarlierOne_isAnotherOne() throws {
      struct Later: Error {}
      try tracing(capturesPlaces: false) { trace in
        for _ in 0..<100 {
          let (inner, resolver) = Promise<Int>.withResolvers()
          // The first rejection is released when its handler has returned.
          let outer = Promise<Int>.rejected(Oops()).recover(on: .immediate) { _ in inner }
          resolver.reject(Later())
          outer.ignoreErrors()
          let path = try #require(trace.errorPath(of: outer))
          #expect(path.error is Later && events(path).first?.hasPrefix("rejected") == true)
          #expect(path.steps.first?.promise == inner.id)
        }
      }
    }

    @Test func bornRejected_hasItsPlace() throws {
      try tracing(capturesPlaces: false) { trace in
        let line = #line + 1
        let promise = Promise<Int>.rejected(Oops())
        promise.ignoreErrors()
        let path = try #require(trace.errorPath(of: promise))
        #expect(events(path) == ["rejected"])
        #expect(path.steps.first?.location?.line == line)
      }
    }

    #if os(Linux)
      @Test func locationInAnIntegration_isThatOfTheCallingCode() throws {
        try tracing { trace in
          let line = #line + 1
          let promise = Promise<Int>.rejected(Oops(), fileID: "PledgeNIO/Futures.swift", line: 18)
          promise.ignoreErrors()
          let path = try #require(trace.errorPath(of: promise))
          #expect(path.steps.first?.location?.line == line)
        }
      }
    #endif

    @Test func adoption_isAStep_linkedAndObserved() {
      tracing { trace in
        let (inner, observed) = (Promise<Int>.withResolvers(), Promise<Int>.withResolvers())
        let tap = observed.promise.tap(on: .immediate) { _ in }
        let outer = Promise.value(1).then(on: .immediate) { _ in inner.promise }
        let second = Promise.value(1).then(on: .immediate) { _ in observed.promise }
        outer.ignoreErrors()
        second.ignoreErrors()
        tap.ignoreErrors()
        inner.resolver.reject(Oops())
        observed.resolver.reject(Oops())
        let adopted = "rejected like the promise that its handler returned"
        #expect(events(trace.errorPath(of: outer)) == ["rejected", adopted])
        #expect(events(trace.errorPath(of: second)) == ["rejected", adopted])
      }
    }

    @Test func replacedError_beginsAnotherPath() {
      struct Other: Error {}
      tracing { trace in
        let first = Promise<Int>.rejected(Oops())
        let second = first.recover(on: .immediate) { _ -> Promise<Int> in throw Other() }
        second.ignoreErrors()
        #expect(events(trace.errorPath(of: first)) == ["rejected"])
        #expect(events(trace.errorPath(of: second)) == ["rejected by its handler"])
      }
    }

    @Test func combinator_passesTheErrorOfItsInput() {
      tracing { trace in
        let (first, second) = (Promise<Int>.withResolvers(), Promise<Int>.withResolvers())
        let all = Promise.all([first.promise, second.promise])
        all.ignoreErrors()
        second.resolver.reject(Oops())
        #expect(events(trace.errorPath(of: all)) == ["rejected", "rejected like its input"])
        #expect(trace.errorPath(of: all)?.steps.first?.promise == second.promise.id)
        first.resolver.fulfill(1)
      }
    }

    @Test func lastUnhandledRejection_isFound() async {
      // In a process of its own, because the hook is global.
      await #expect(processExitsWith: .success) {
        PromiseDiagnostics.setUnhandledRejectionHandler { _ in }
        let trace = Trace.start()
        let handled = Promise<Int>.rejected(Oops())
        handled.ignoreErrors()
        #expect(trace.lastUnhandledErrorPath() == nil)
        do {
          let promise = Promise.value(1).map(on: .immediate) { _ -> Int in throw Oops() }
          _ = promise.map(on: .immediate) { $0 }
        }
        let path = trace.lastUnhandledErrorPath()
        #expect(path?.steps.count == 2)
      }
    }

    @Test func reportedRejection_isThatOfThePath() async {
      await #expect(processExitsWith: .success) {
        struct Handled: Error {}
        let paths = Recorder<ErrorPath?>()
        PromiseDiagnostics.setUnhandledRejectionHandler { _ in
          paths.record(Trace.current?.lastUnhandledErrorPath())
        }
        let trace = Trace.start()
        // Handled by what the trace doesn't record, and rejected last.
        func rejectLast() async {
          let (promise, resolver) = Promise<Int>.withResolvers()
          resolver.reject(Handled())
          _ = await promise.result
        }
        do {
          let watched = Promise<Int>.rejected(Oops())
          watched.watch(on: .immediate) { _ in }
          await rejectLast()
        }
        #expect(paths.events.count == 1 && paths.events.first??.error is Oops)
        do {
          let first = Promise<Int>.rejected(Oops())
          _ = first.finally(on: .immediate) { throw CancellationError() }
          await rejectLast()
        }
        #expect(paths.events.count == 2 && paths.events.last??.error is Oops)
        #expect(trace.lastUnhandledErrorPath()?.error is Oops)
      }
    }

    @Test func reportedRejectionThatIsNotInTheRecord_hasNoPath() async {
      await #expect(processExitsWith: .success) {
        let paths = Recorder<ErrorPath?>()
        PromiseDiagnostics.setUnhandledRejectionHandler { _ in
          paths.record(Trace.current?.lastUnhandledErrorPath())
        }
        struct Unrecorded: Error { let number: Int }
        Trace.start(samplingInterval: 2)
        // Rejections in the memory of earlier ones, of which every second one is in the sample.
        for number in 0..<100 { _ = Promise<Int>.rejected(Unrecorded(number: number)) }
        #expect(paths.events.count { $0 == nil } == 50)
        let numbers = paths.events.compactMap { ($0?.error as? Unrecorded)?.number }
        #expect(numbers.count == 50 && Set(numbers).count == 50)
      }
    }

    @Test func errorThatNoClosureThrew_isNotCalledThrown() async {
      await tracing { trace in
        let failed = Promise<Int>.rejected(Oops())
        let any = Promise.any(failed, failed)
        let expired = Promise<Int>.never.timeout(after: .seconds(-1))
        let invalid = Promise.value(1).validate { _ in false }
        let mapped = failed.mapError { _ in CancellationError() }
        for promise in [any, expired, invalid, mapped] { _ = await promise.result }
        let dropped = Promise.value(1).map(on: ForgetfulExecutor()) { $0 }
        _ = await dropped.result
        #expect(events(trace.errorPath(of: any)) == ["rejected because all its inputs were"])
        #expect(
          events(trace.errorPath(of: expired)) == ["rejected because its time limit had passed"])
        #expect(
          events(trace.errorPath(of: dropped)) == [
            "rejected because its executor dropped its handler"
          ]
        )
        #expect(events(trace.errorPath(of: invalid)) == ["rejected by its handler"])
        #expect(events(trace.errorPath(of: mapped)) == ["rejected by its handler"])
      }
    }

    @Test func cancellation_isNotSaidToBeARejectionByAHandlerOrAResolver() {
      tracing { trace in
        let end = Recorder<Promise<Int>>()
        let (source, resolver) = Promise<Int>.withResolvers()
        let handled = source.map(on: .immediate) { value in
          end.events.first?.cancel()
          return value
        }
        end.record(handled.map(on: .immediate) { $0 })
        resolver.fulfill(1)
        #expect(events(trace.errorPath(of: handled)) == ["cancelled"])
        #expect(events(trace.errorPath(of: end.events[0])) == ["cancelled", "passed on"])
        let (promise, producer) = Promise<Int>.withResolvers()
        promise.map(on: .immediate) { $0 }.cancel()
        #expect(events(trace.errorPath(of: promise)) == ["cancelled"])
        withExtendedLifetime(producer) {}
      }
    }

    @Test func hedged_passesOnTheErrorOfAnAttemptThatHasBeenReleased() async throws {
      try await tracing { trace in
        let hedged = Promise.hedged(delay: .seconds(60)) { Promise<Int>.rejected(Oops()) }
        _ = await hedged.result
        let path = try #require(trace.errorPath(of: hedged))
        #expect(events(path).first == "rejected" && events(path).last == "rejected like its input")
      }
    }

    @Test func closureThatWasNotCalled_isNotSaidToBe() async {
      struct Other: Error, Equatable {}
      final class Owner: Sendable {}
      await tracing { trace in
        let failed = Promise<Int>.rejected(Oops())
        for promise in [
          failed.replaceError(only: Other.self) { _ in 1 },
          failed.recover(only: Other.self) { _ in .value(1) },
          failed.recover(only: Other()) { .value(1) },
        ] {
          _ = await promise.result
          #expect(events(trace.errorPath(of: promise)) == ["rejected", "passed on"])
        }
        for promise in [failed.catch(only: Other.self) { _ in }, failed.catch(only: Other()) {}] {
          _ = await promise.result
          #expect(events(trace.errorPath(of: promise)) == ["rejected", "passed on"])
        }
        let (source, resolver) = Promise<Int>.withResolvers()
        let orphan = source.done(weak: Owner()) { _, _ in }
        resolver.fulfill(1)
        _ = await orphan.result
        #expect(events(trace.errorPath(of: orphan)) == ["cancelled"])
      }
    }

    @Test func using_passesOnTheErrorOfItsAcquisition() async throws {
      try await tracing { trace in
        let connection = Promise<Int>.rejected(Oops())
        let used = Promise<Int>.using(connection, release: { _ in }) { _ in .value(1) }
        _ = await used.result
        let path = try #require(trace.errorPath(of: used))
        #expect(path.steps.first?.promise == connection.id)
        #expect(events(path).starts(with: ["rejected", "rejected like its input", "passed on"]))
      }
    }

    @Test func policies_passTheErrorOn() async throws {
      try await tracing { trace in
        let (limiter, breaker) = (Limiter(1), CircuitBreaker())
        let limited = limiter.run { Promise<Int>.rejected(Oops()) }
        let called = breaker.run { Promise<Int>.rejected(Oops()) }
        for promise in [limited, called] {
          _ = await promise.result
          let path = try #require(trace.errorPath(of: promise))
          #expect(
            events(path)
              == ["rejected", "rejected like the promise that its handler returned", "passed on"])
        }
      }
    }

    @Test func promiseThatIsNotRejected_hasNoPath() {
      tracing { trace in
        let (promise, resolver) = Promise<Int>.withResolvers()
        #expect(trace.errorPath(of: promise) == nil)
        resolver.fulfill(1)
        #expect(trace.errorPath(of: promise) == nil)
        #expect(trace.lastUnhandledErrorPath() == nil)
      }
    }
  }
}

/// An executor that drops its jobs.
private struct ForgetfulExecutor: PromiseExecutor {
  func enqueue(_ job: PromiseJob) {}
}
