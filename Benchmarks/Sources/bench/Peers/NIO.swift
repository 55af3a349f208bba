#if Peers
  import Dispatch
  import NIOCore
  import NIOPosix

  /// `EventLoopFuture` on the event loops that servers use.
  func addNIOLoop(to registry: inout Registry) {
    let library = "NIO loop"

    for count in 1...3 {
      registry.add("google-then-\(count)", library: library) { tries in
        let semaphore = DispatchSemaphore(value: 0)
        for _ in 0..<tries {
          var future = nioLoop.makeSucceededFuture(true)
          for _ in 1..<count { future = future.map { $0 } }
          _ = future.map { _ in semaphore.signal() }
          semaphore.wait()
        }
      }
    }
    registry.add("google-concurrent", library: library, note: "a loop for each core") { count in
      let latch = Latch(count)
      for _ in 0..<count {
        _ = group.next().makeSucceededFuture(true).map { _ in latch.countDown() }
      }
      latch.wait()
    }
    registry.add("inline-chain", library: library) { chains in
      onNIOLoop { nioInlineChains(chains, on: nioLoop) }
    }
    registry.add("queue-chain", library: library) { hopChains($0) }
    registry.add("resolved-map", library: library) { count in
      onNIOLoop { nioResolvedMaps(count, on: nioLoop) }
    }
    registry.add("fan-in", library: library) { count in onNIOLoop { nioFanIn(count, on: nioLoop) } }
    registry.add("fan-out", library: library) { count in
      onNIOLoop { nioFanOut(count, on: nioLoop) }
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

  private func hopChains(_ chains: Int) {
    let done = DispatchSemaphore(value: 0)
    let total = Slot(0)
    for _ in 0..<chains {
      let promise = nioLoop.makePromise(of: Int.self)
      nioChain(chainLength, from: promise.futureResult).whenSuccess {
        total.value &+= $0
        done.signal()
      }
      promise.succeed(1)
      done.wait()
    }
    check(total.value, is: chains * (chainLength + 1))
  }
#endif
