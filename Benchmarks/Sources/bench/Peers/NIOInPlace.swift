#if Peers
  import NIOCore

  // Workloads that an event loop of any kind runs in place, on its own thread.

  func nioInlineChains(_ chains: Int, on loop: any EventLoop) {
    let sum = Slot(0)
    for _ in 0..<chains {
      let promise = loop.makePromise(of: Int.self)
      nioChain(chainLength, from: promise.futureResult).whenSuccess { sum.value &+= $0 }
      promise.succeed(1)
    }
    check(sum.value, is: chains * (chainLength + 1))
  }

  func nioResolvedMaps(_ count: Int, on loop: any EventLoop) {
    let sum = Slot(0)
    for _ in 0..<count {
      loop.makeSucceededFuture(1).map { $0 &+ 1 }.whenSuccess { sum.value &+= $0 }
    }
    check(sum.value, is: 2 * count)
  }

  func nioFanIn(_ count: Int, on loop: any EventLoop) {
    let sum = Slot(0)
    let promises = (0..<count).map { _ in loop.makePromise(of: Int.self) }
    EventLoopFuture.whenAllSucceed(promises.map(\.futureResult), on: loop)
      .whenSuccess { sum.value = $0.reduce(0, &+) }
    for (index, promise) in promises.enumerated() { promise.succeed(index) }
    check(sum.value, is: count * (count - 1) / 2)
  }

  func nioFanOut(_ count: Int, on loop: any EventLoop) {
    let total = Slot(0)
    let promise = loop.makePromise(of: Int.self)
    for _ in 0..<count { promise.futureResult.whenSuccess { total.value &+= $0 } }
    promise.succeed(1)
    check(total.value, is: count)
  }

  func nioChain(_ links: Int, from root: EventLoopFuture<Int>) -> EventLoopFuture<Int> {
    var future = root
    for _ in 0..<links { future = future.map { $0 &+ 1 } }
    return future
  }
#endif
