import Dispatch
import Pledge
import PledgeDiagnostics
import PledgeTesting
import Testing

@testable import PledgeTestingTraits

struct Boom: Error, Equatable { var id = 0 }

/// Runs `body` as a test with the trait, and returns the issues that it records.
private func issues(
  _ problems: PromiseCheckTrait.Problems = .all, patience: Duration = .milliseconds(20),
  _ body: @Sendable () async throws -> Void
) async throws -> [String] {
  let issues = Recorder<String>()
  try await PromiseCheckTrait(problems: problems, patience: patience)
    .check(body) { issues.record($0) }
  return issues.events
}

@Suite struct CheckTests {
  private let kept = Recorder<Promise<Int>>()

  @Test func testThatLeavesNothing_orWorkThatEnds_hasNoIssue() async throws {
    let found = try await issues(patience: .seconds(60)) {
      try await expectFulfillment(of: Promise.value(1).map { $0 + 1 }.then { .value($0) }, with: 2)
      try await expectRejection(of: Promise<Int>.rejected(Boom()))
      Promise<Int>.rejected(Boom()).ignoreErrors()
      Promise<Void>.after(.seconds(3600)).cancel()
      // The check waits for the end of this work.
      let queue = DispatchQueue(label: "work")
      for number in 0..<100 {
        Promise.value(number).map(on: queue) { $0 }.delay(.milliseconds(1)).ignoreErrors()
      }
    }
    #expect(found == [])
  }

  @Test(
    arguments: [
      "of a handler": { _ = Promise<Int>.rejected(Boom(id: 7)).map { $0 } },
      "of a combinator": { _ = Promise.all([.rejected(Boom(id: 7)), .value(1)]).map { $0.count } },
      "after the end": {
        _ = Promise<Void>.after(.milliseconds(5)).done(on: .global) { throw Boom(id: 7) }
      },
    ] as [String: @Sendable () -> Void])
  func unhandledRejection_isOneIssue(_: String, reject: @Sendable () -> Void) async throws {
    let found = try await issues(patience: .seconds(60)) { reject() }
    try #require(found.count == 1)
    #expect(found[0].hasPrefix("Unhandled rejection: Boom(id: 7)"))
  }

  @Test func pendingPromise_isAnIssueWithTheTree() async throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    let found = try await issues {
      let inner = Promise<Int> { resolver in kept.record(promise.tap { resolver.resolve($0) }) }
      kept.record(inner.map { $0 + 1 })
    }
    try #require(found.count == 1)
    #expect(found[0].hasPrefix("The test leaves promises pending.\nPending: "))
    #expect(found[0].contains("map at PledgeTestingTraitsTests/CheckTests.swift:"))
    #expect(found[0].contains("its resolver or operation has not settled it"))
    resolver.fulfill(1)
    for promise in kept.events { try await expectFulfillment(of: promise) }
  }

  @Test func pendingTask_isAnIssue() async throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    let tasks = Recorder<Task<Int, any Error>>()
    let (waiting, hasBegun) = Promise<Void>.withResolvers()
    let found = try await issues {
      tasks.record(
        Task {
          hasBegun.fulfill()
          return try await promise.value
        })
      _ = await waiting.result
      try await waitUntil { (Trace.current?.leftovers().pending ?? 0) > 0 }
    }
    #expect(found.count == 1)
    #expect(found.first?.contains("a task waits") == true)
    resolver.fulfill(1)
    #expect(try await tasks.events[0].value == 1)
  }

  @Test func settledPromiseInMemory_isALeak() async throws {
    let found = try await issues {
      let promise = Promise.value(1).map(on: .immediate) { $0 }
      kept.record(promise)
      kept.record(promise.map(on: .immediate) { _ in throw Boom(id: 3) })
    }
    try #require(found.count == 1)
    #expect(found[0].hasPrefix("The test leaves settled promises in memory: 2\n"))
    #expect(found[0].contains("CheckTests.swift"))
    #expect(found[0].contains(": fulfilled"))
    #expect(found[0].contains(": rejected with Boom(id: 3)"))
    for promise in kept.events { promise.ignoreErrors() }
  }

  @Test func referenceCycle_isALeak() async throws {
    final class Owner: Sendable { let promises = Recorder<Promise<Void>>() }
    let owners = Recorder<Owner>()
    let found = try await issues {
      let owner = Owner()
      owners.record(owner)
      let (promise, resolver) = Promise<Void>.withResolvers()
      // The handler retains its owner, and the owner retains the handler's promise.
      owner.promises.record(promise.done { withExtendedLifetime(owner) {} })
      owner.promises.record(promise)
      resolver.fulfill()
      _ = await owner.promises.events[0].result
    }
    #expect(found.count == 1)
    #expect(found.first?.hasPrefix("The test leaves settled promises in memory: 2") == true)
    #expect(owners.count == 1)
  }

  @Test(arguments: [PromiseCheckTrait.Problems.unhandledRejections, .pendingPromises, .leaks, []])
  func kindsThatAreNotChosen_areNoIssues(problems: PromiseCheckTrait.Problems) async throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    let found = try await issues(problems) {
      kept.record(promise.map(on: .immediate) { $0 })
      kept.record(Promise.value(1).map(on: .immediate) { $0 })
      _ = Promise<Int>.rejected(Boom())
    }
    #expect(found.count == problems.rawValue.nonzeroBitCount)
    resolver.fulfill(1)
    for promise in kept.events { promise.ignoreErrors() }
  }

  @Test func errorOfTheTest_isThrownAfterTheCheck() async throws {
    let found = Recorder<String>()
    await #expect(throws: Boom(id: 1)) {
      try await PromiseCheckTrait(problems: .all, patience: .seconds(60)).check {
        _ = Promise<Int>.rejected(Boom(id: 2))
        throw Boom(id: 1)
      } report: {
        found.record($0)
      }
    }
    #expect(found.count == 1)
  }

  @Test func cancelledTest_doesNotWait() async throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    let task = Task {
      try await issues(.pendingPromises, patience: .seconds(3600)) {
        kept.record(promise.map { $0 })
      }
    }
    task.cancel()
    #expect(try await task.value.count == 1)
    resolver.fulfill(1)
    _ = try await kept.events[0].value
  }
}

@Suite struct AttributionTests {
  /// Many concurrent tests have one problem of each kind, and none receives the issues of another.
  @Test func parallelTests_getTheirOwnReportsOnly() async throws {
    let count = 24
    let all = try await withThrowingTaskGroup(of: (Int, [String]).self) { group in
      for number in 0..<count {
        group.addTask {
          let (promise, resolver) = Promise<Int>.withResolvers()
          let (kept, queue) = (Recorder<Promise<Int>>(), DispatchQueue(label: "of \(number)"))
          let found = try await issues(patience: .seconds(1)) {
            for _ in 0..<20 {
              _ = Promise.value(number).map(on: queue) { $0 }.then(on: .global) { .value($0) }
                .map(on: .immediate) { _ in }
            }
            _ = Promise.value(()).map(on: .global) {}
              .then(on: queue) { Promise<Int>.rejected(Boom(id: number)) }
            kept.record(promise.map(on: queue) { $0 })
            let settled = Promise.value(1).map(on: queue) { $0 }
            kept.record(settled)
            _ = await settled.result
          }
          resolver.fulfill(number)
          for promise in kept.events { _ = await promise.result }
          return (number, found)
        }
      }
      var all: [Int: [String]] = [:]
      for try await (number, found) in group { all[number] = found }
      return all
    }
    #expect(all.count == count)
    for (number, found) in all {
      try #require(found.count == 3, "test \(number): \(found)")
      #expect(found[0].contains("Boom(id: \(number))"))
      #expect(found[1].contains("on of \(number): waits"))
      #expect(found[1].contains("its creation is not in the record"))
      #expect(!found[1].contains("\n#3"))
      #expect(found[2].contains("in memory: 1\n"))
    }
  }

  @Test func rejectionOfAnotherTest_isNotClaimed_thoughItsNameWasUsedBefore() async throws {
    // Consecutive rejections can have the same address.
    for number in 0..<200 {
      let first = try await issues(patience: .seconds(60)) {
        Promise<Int>.rejected(Boom(id: -1)).ignoreErrors()
        let second = try await issues(patience: .seconds(60)) {
          _ = Promise<Int>.rejected(Boom(id: number))
        }
        #expect(second.count == 1)
        #expect(second.first?.contains("Boom(id: \(number))") == true)
      }
      #expect(first == [])
    }
  }
}

@Suite struct TraitTests {
  @Test(.checksPromises) func trait_letsAGoodTestPass() async throws {
    try await expectFulfillment(of: Promise.value(1).map { $0 + 1 }, with: 2)
  }

  @Test(.checksPromises(for: .unhandledRejections), arguments: 0..<10)
  func trait_letsCasesPass(number: Int) async throws {
    try await expectFulfillment(of: Promise.value(number).map { $0 }, with: number)
  }

  @Test func trait_recordsAnIssueAtTheTest() async throws {
    let test = try #require(Test.current)
    let lines = Recorder<Int?>()
    try await withKnownIssue {
      try await PromiseCheckTrait.checksPromises(patience: .seconds(60))
        .provideScope(for: test, testCase: nil) { _ = Promise<Int>.rejected(Boom()) }
    } matching: { issue in
      lines.record(issue.sourceLocation?.line)
      return "\(issue)".contains("Boom")
    }
    #expect(lines.events.allSatisfy { $0 == test.sourceLocation.line })
    #expect(lines.count > 0)
  }
}

// In a process of its own, because the check is one of the process.
@Suite struct RunTests {
  @Test func rejectionThatBelongsToNoTest_isAnIssueOfTheRun() async {
    await #expect(processExitsWith: .success) {
      let issues = Recorder<String>()
      RunCheck.setRecord { issues.record($0) }
      RunCheck.begin("first()")
      DispatchQueue.global().async { _ = Promise<Int>.rejected(Boom(id: 3)).map { $0 } }
      _ = await issues.reaches(1).value
      #expect(issues.events[0].hasPrefix("Unhandled rejection: Boom(id: 3)"))
      #expect(issues.events[0].hasSuffix("that were running: first()"))
      Task.detached { _ = Promise<Int>.rejected(Boom(id: 4)).map { $0 } }
      _ = await issues.reaches(2).value

      let handled = Recorder<String>()
      PromiseDiagnostics.setUnhandledRejectionHandler { handled.record("\($0.error)") }
      Task.detached { _ = Promise<Int>.rejected(Boom(id: 5)).map { $0 } }
      _ = await handled.reaches(1).value
      #expect(issues.count == 2)
    }
  }
}

@Suite(.checksPromises) struct SuiteTests {
  @Test func suite_appliesToItsTests() async throws {
    #expect(PromiseCheckTrait(problems: .all, patience: .zero).isRecursive)
    try await expectFulfillment(of: Promise.value(1).then { .value($0) }, with: 1)
  }
}
