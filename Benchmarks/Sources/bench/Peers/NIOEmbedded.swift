import NIOCore
import NIOEmbedded

/// `EventLoopFuture` with a loop that costs nothing: always on the right thread, no hop.
///
/// An embedded loop belongs to the thread that makes it, so every body makes its own.
func addNIOEmbedded(to registry: inout Registry) {
  let library = "NIO embedded"

  registry.add("inline-chain", library: library) { chains in
    let loop = EmbeddedEventLoop()
    let sum = Slot(0)
    for _ in 0..<chains {
      let promise = loop.makePromise(of: Int.self)
      var future = promise.futureResult
      for _ in 0..<chainLength { future = future.map { $0 &+ 1 } }
      future.whenSuccess { sum.value &+= $0 }
      promise.succeed(1)
    }
    check(sum.value, is: chains * (chainLength + 1))
  }
  registry.add("resolved-map", library: library) { count in
    let loop = EmbeddedEventLoop()
    let sum = Slot(0)
    for _ in 0..<count {
      loop.makeSucceededFuture(1).map { $0 &+ 1 }.whenSuccess { sum.value &+= $0 }
    }
    check(sum.value, is: 2 * count)
  }
  registry.add("fan-in", library: library) { count in
    let loop = EmbeddedEventLoop()
    let sum = Slot(0)
    let promises = (0..<count).map { _ in loop.makePromise(of: Int.self) }
    EventLoopFuture.whenAllSucceed(promises.map(\.futureResult), on: loop)
      .whenSuccess { sum.value = $0.reduce(0, &+) }
    for (index, promise) in promises.enumerated() { promise.succeed(index) }
    check(sum.value, is: count * (count - 1) / 2)
  }
  registry.add("fan-out", library: library) { count in
    let loop = EmbeddedEventLoop()
    let total = Slot(0)
    let promise = loop.makePromise(of: Int.self)
    for _ in 0..<count { promise.futureResult.whenSuccess { total.value &+= $0 } }
    promise.succeed(1)
    check(total.value, is: count)
  }
  registry.add("recursive-loop", library: library, limit: .stack(above: 20_000)) { rounds in
    let slot = Slot(0)
    step(0, rounds, on: EmbeddedEventLoop()).whenSuccess { slot.value = $0 }
    check(slot.value, is: rounds)
  }
  registry.add("deep-chain", library: library) { links in
    let loop = EmbeddedEventLoop()
    let slot = Slot(0)
    let promise = loop.makePromise(of: Int.self)
    chain(links, from: promise.futureResult).whenSuccess { slot.value = $0 }
    promise.succeed(1)
    check(slot.value, is: links + 1)
  }
  registry.add(
    "deep-chain-drop", library: library,
    limit: .never("leaks: a promise that is never settled keeps itself and its chain alive")
  ) { links in
    let loop = EmbeddedEventLoop()
    let promise = loop.makePromise(of: Int.self)
    consume(chain(links, from: promise.futureResult))
  }
}

private func step(
  _ round: Int, _ rounds: Int, on loop: EmbeddedEventLoop
) -> EventLoopFuture<Int> {
  if round == rounds { return loop.makeSucceededFuture(round) }
  return loop.makeSucceededFuture(round &+ 1).flatMap { step($0, rounds, on: loop) }
}

private func chain(_ links: Int, from root: EventLoopFuture<Int>) -> EventLoopFuture<Int> {
  var future = root
  for _ in 0..<links { future = future.map { $0 &+ 1 } }
  return future
}
