import Dispatch
import Pledge
import PledgeTesting
import Testing

@Suite(.apart) struct ManyAwaitingTasks {
  @Test func tasks_thatAwaitAndAreCancelledAtRandom_eachHaveOneResult() async throws {
    let count = isFullRun ? 100_000 : 5_000
    let groups = 50
    let (cancelled, fulfilled) = (CallCounter(), CallCounter())
    let started = Recorder<Int>()
    let promises = (0..<groups).map { _ in Promise<Int>.withResolvers() }
    // A permanent consumer, so that the others' cancellation doesn't cancel the promise.
    for (promise, _) in promises { promise.ignoreErrors() }
    await withTaskGroup(of: Void.self) { group in
      var random = SeededRandom(seed: 42)
      var tasks: [Task<Int, any Error>] = []
      for index in 0..<count {
        let promise = promises[index % groups].promise
        tasks.append(
          Task {
            started.record(index)
            return try await promise.value
          })
        if Bool.random(using: &random) { tasks.randomElement(using: &random)?.cancel() }
      }
      await started.reaches(count).value
      for (index, entry) in promises.enumerated() {
        DispatchQueue.global().async { entry.resolver.fulfill(index) }
      }
      for task in tasks where Bool.random(using: &random) { task.cancel() }
      for task in tasks {
        switch await task.result {
        case .success: fulfilled.call()
        case .failure(let error):
          #expect(error is CancellationError)
          cancelled.call()
        }
      }
      await group.waitForAll()
    }
    #expect(cancelled.count + fulfilled.count == count)
    print("\(count) awaits: \(fulfilled.count) got the value, \(cancelled.count) were cancelled")
    for (index, entry) in promises.enumerated() {
      #expect(entry.promise.state == "fulfilled: \(index)")
    }
  }
}
