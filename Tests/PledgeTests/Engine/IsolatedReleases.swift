import Dispatch
import Pledge
import PledgeTesting
import Testing

/// A closure that is isolated to an actor is released there, also when it is skipped.
@Suite struct IsolatedReleases {
  /// Notes where it is deallocated.
  private final class Guard: Sendable {
    let places: Recorder<Bool>
    init(_ places: Recorder<Bool>) { self.places = places }
    deinit { places.record(ExecutorProbe.main.isCurrent) }
  }

  @MainActor @Test func skippedHandlers_areReleasedOnTheMainActor() async throws {
    let places = Recorder<Bool>()
    for _ in 0..<20 {
      let (rejected, rejecter) = Promise<Int>.withResolvers()
      let (fulfilled, fulfiller) = Promise<Int>.withResolvers()
      var ends: [Promise<Void>] = []
      do {
        let first = Guard(places)
        let second = Guard(places)
        ends.append(rejected.done { _ in _ = first })
        ends.append(
          fulfilled.replaceError { _ in withExtendedLifetime(second) { 1 } }.promise.asVoid())
      }
      DispatchQueue.global().async {
        rejecter.reject(Boom())
        fulfiller.fulfill(1)
      }
      // The rejection does not wait for the release.
      for end in ends { _ = await end.result }
    }
    try await places.waitForCount(40)
    #expect(places.events.allSatisfy { $0 })
  }

  @MainActor @Test func operationOfAPromise_isReleasedOnTheMainActor() async throws {
    let places = Recorder<Bool>()
    for _ in 0..<20 {
      let promise: Promise<Int>
      do {
        let guarded = Guard(places)
        promise = Promise {
          await Task.yield()
          return withExtendedLifetime(guarded) { 1 }
        }
      }
      _ = try await promise.value
    }
    try await places.waitForCount(20)
    #expect(places.events.allSatisfy { $0 })
  }
}

extension Recorder {
  /// Waits until so many events were recorded.
  fileprivate func waitForCount(_ count: Int) async throws {
    while events.count < count {
      try Task.checkCancellation()
      await Task.yield()
    }
  }
}
