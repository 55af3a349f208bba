import Pledge
import Testing

private struct Refused: Error {}

@Suite final class InFlightTests {
  private let table = InFlight<String, Int>()
  private let starts = Mutex(0)

  private func ask(_ work: Promise<Int>) -> Promise<Int> {
    table.promise(for: "key") {
      starts.withLock { $0 += 1 }
      return work
    }
  }

  @Test func inFlight_sharesTheWork() async throws {
    let (work, resolver) = Promise<Int>.withResolvers()
    let first = ask(work)
    let second = ask(work)
    #expect(starts.withLock { $0 } == 1)
    resolver.fulfill(3)
    #expect(try await first.value == 3)
    #expect(try await second.value == 3)
    #expect(table.count == 0)
  }

  @Test func inFlight_oneCallerCancels_theOtherGetsTheValue() async throws {
    let (work, resolver) = Promise<Int>.withResolvers()
    let first = ask(work)
    let second = ask(work)
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    resolver.fulfill(3)
    #expect(try await second.value == 3)
  }

  @Test func inFlight_allCallersCancel_theWorkIsCancelledOnce() async {
    let told = Mutex(0)
    let (work, resolver) = Promise<Int>.withResolvers()
    resolver.onCancel { told.withLock { $0 += 1 } }
    let callers = (0..<5).map { _ in ask(work) }
    for caller in callers { caller.cancel() }
    await #expect(throws: CancellationError.self) { try await work.value }
    #expect(told.withLock { $0 } == 1)
    #expect(table.count == 0)
    let again = ask(.value(9))
    #expect(await again.result.get(orNil: ()) == 9)
  }

  @Test func inFlight_keepsNoErrors() async throws {
    let failed = ask(.rejected(Refused()))
    await #expect(throws: Refused.self) { try await failed.value }
    #expect(try await ask(.value(4)).value == 4)
    #expect(starts.withLock { $0 } == 2)
  }

  @Test func inFlight_keepingValues_startsOnce() async throws {
    let memo = InFlight<Int, Int>(keepingValues: true)
    let starts = Mutex(0)
    for _ in 0..<3 {
      let value = try await memo.promise(for: 2) {
        starts.withLock { $0 += 1 }
        return .value(4)
      }.value
      #expect(value == 4)
    }
    #expect(starts.withLock { $0 } == 1)
    memo.removeValue(for: 2)
    #expect(memo.count == 0)
  }
}

extension Result {
  fileprivate func get(orNil: Void) -> Success? { try? get() }
}
