#if Peers
  import NIOCore

  extension Registry {
    /// Adds the workloads that an event loop of any kind runs in place, on its own thread.
    ///
    /// - Parameter run: Calls its argument with a loop, on the thread of the loop, and waits for the end.
    mutating func addInPlace(
      library: String,
      _ run: @escaping @Sendable (_ work: @escaping @Sendable (any EventLoop) -> Void) -> Void
    ) {
      addSum("inline-chain", library: library) { chains, sum in
        run { loop in
          for _ in 0..<chains {
            let promise = loop.makePromise(of: Int.self)
            nioChain(chainLength, from: promise.futureResult).whenSuccess { sum.value &+= $0 }
            promise.succeed(1)
          }
        }
      }
      addSum("resolved-map", library: library) { count, sum in
        run { loop in
          for _ in 0..<count {
            loop.makeSucceededFuture(1).map { $0 &+ 1 }.whenSuccess { sum.value &+= $0 }
          }
        }
      }
      addSum("fan-in", library: library) { count, sum in
        run { loop in
          let promises = (0..<count).map { _ in loop.makePromise(of: Int.self) }
          EventLoopFuture.whenAllSucceed(promises.map(\.futureResult), on: loop)
            .whenSuccess { sum.value = $0.reduce(0, &+) }
          for (index, promise) in promises.enumerated() { promise.succeed(index) }
        }
      }
      addSum("fan-out", library: library) { count, sum in
        run { loop in
          let promise = loop.makePromise(of: Int.self)
          for _ in 0..<count { promise.futureResult.whenSuccess { sum.value &+= $0 } }
          promise.succeed(1)
        }
      }
    }
  }

  func nioChain(_ links: Int, from root: EventLoopFuture<Int>) -> EventLoopFuture<Int> {
    var future = root
    for _ in 0..<links { future = future.map { $0 &+ 1 } }
    return future
  }
#endif
