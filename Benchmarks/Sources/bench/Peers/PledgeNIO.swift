import NIOCore
@_spi(DropIns) import Pledge
import PledgeNIO

/// Pledge on an event loop, compared with the loop's own futures.
func addBridges(to registry: inout Registry) {
  registry.add("loop-chain", library: "NIO loop") { chains in
    onNIOLoop { nioInlineChains(chains, on: nioLoop) }
  }
  registry.add("loop-chain", library: "Pledge", note: "handlers on the loop") { chains in
    let executor = TurnExecutor.eventLoop(nioLoop)
    let latch = Latch(chains)
    onNIOLoop {
      for _ in 0..<chains {
        let (first, resolver) = Promise<Int>.withResolvers()
        var last = first
        for _ in 0..<chainLength { last = last.map(on: executor) { $0 &+ 1 } }
        last.observe(on: .immediate) { _ in latch.countDown() }
        resolver.fulfill(1)
      }
    }
    latch.wait()
  }

  // The baseline of both bridges: one link of the event loop's own.
  for bridge in ["future-to-promise", "promise-to-future"] {
    registry.add(bridge, library: "NIO loop", note: "one `map`") { count in
      onNIOLoop {
        let sum = Slot(0)
        for _ in 0..<count {
          let promise = nioLoop.makePromise(of: Int.self)
          promise.futureResult.map { $0 }.whenSuccess { sum.value &+= $0 }
          promise.succeed(1)
        }
        check(sum.value, is: count)
      }
    }
  }
  registry.add("future-to-promise", library: "Pledge") { count in
    onNIOLoop {
      let sum = Slot(0)
      for _ in 0..<count {
        let promise = nioLoop.makePromise(of: Int.self)
        promise.futureResult.promise.observe(on: .immediate) { result in
          if case .success(let value) = result { sum.value &+= value }
        }
        promise.succeed(1)
      }
      check(sum.value, is: count)
    }
  }

  registry.add("promise-to-future", library: "Pledge") { count in
    onNIOLoop {
      let sum = Slot(0)
      for _ in 0..<count {
        let (promise, resolver) = Promise<Int>.withResolvers()
        promise.future(on: nioLoop).whenSuccess { sum.value &+= $0 }
        resolver.fulfill(1)
      }
      check(sum.value, is: count)
    }
  }
}
