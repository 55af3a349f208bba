#if Peers
  import Dispatch
  import NIOCore
  import NIOPosix

  /// `EventLoopFuture` on the event loops that servers use.
  func addNIOLoop(to registry: inout Registry) {
    let library = "NIO loop"

    registry.addThens(library: library) { count, semaphore in
      var future = nioLoop.makeSucceededFuture(true)
      for _ in 1..<count { future = future.map { $0 } }
      _ = future.map { _ in semaphore.signal() }
    }
    registry.addConcurrent(library: library, note: "a loop for each core") { latch in
      _ = group.next().makeSucceededFuture(true).map { _ in latch.countDown() }
    }
    registry.addInPlace(library: library) { work in onNIOLoop { work(nioLoop) } }
    registry.addQueueChains(library: library) { end in
      let promise = nioLoop.makePromise(of: Int.self)
      nioChain(chainLength, from: promise.futureResult).whenSuccess(end)
      promise.succeed(1)
    }
    registry.addContended(library: library) {
      nioLoop.makePromise(of: Int.self)
    } settle: {
      $0.succeed($1)
    } observe: { promise, latch in
      promise.futureResult.whenSuccess { _ in latch.countDown() }
    }
    addAwaiting(to: &registry, library)
  }

  private let group = MultiThreadedEventLoopGroup(numberOfThreads: System.coreCount)
  let nioLoop = group.next()

  /// Runs `work` on the loop's own thread, as a server's handlers do.
  func onNIOLoop(_ work: @escaping @Sendable () -> Void) {
    let done = DispatchSemaphore(value: 0)
    nioLoop.execute {
      work()
      done.signal()
    }
    done.wait()
  }

  private func addAwaiting(to registry: inout Registry, _ library: String) {
    registry.addAsync("await-value", library: library, note: "get()") { count in
      let future = nioLoop.makeSucceededFuture(1)
      var sum = 0
      for _ in 0..<count { sum &+= (try? await future.get()) ?? 0 }
      check(sum, is: count)
    }
    registry.add("timer", library: library, note: "scheduleTask, which fails the promise itself") {
      count in
      onNIOLoop {
        let promises = (0..<count).map { _ in
          let promise = nioLoop.makePromise(of: Int.self)
          let timeout = nioLoop.scheduleTask(in: .hours(1)) { promise.fail(CancellationError()) }
          promise.futureResult.whenComplete { _ in timeout.cancel() }
          return promise
        }
        for promise in promises { promise.succeed(1) }
      }
    }
    registry.addPending("pending-map-bytes", library: library) {
      let promise = nioLoop.makePromise(of: Int.self)
      return (promise, promise.futureResult.map { $0 &+ 1 })
    }
  }
#endif
