#if Peers
  import NIOCore
  import NIOEmbedded

  /// `EventLoopFuture` with a loop that costs nothing: it is always on the right thread, without
  /// hops.
  ///
  /// An embedded loop belongs to the thread that creates it, so every body creates its own.
  func addNIOEmbedded(to registry: inout Registry) {
    let library = "NIO embedded"

    registry.add("inline-chain", library: library) { chains in
      nioInlineChains(chains, on: EmbeddedEventLoop())
    }
    registry.add("resolved-map", library: library) { count in
      nioResolvedMaps(count, on: EmbeddedEventLoop())
    }
    registry.add("fan-in", library: library) { count in nioFanIn(count, on: EmbeddedEventLoop()) }
    registry.add("fan-out", library: library) { count in nioFanOut(count, on: EmbeddedEventLoop()) }
    registry.add("recursive-loop", library: library, limit: .stack(above: 20_000)) { rounds in
      let slot = Slot(0)
      step(0, rounds, on: EmbeddedEventLoop()).whenSuccess { slot.value = $0 }
      check(slot.value, is: rounds)
    }
    registry.add("deep-chain", library: library) { links in
      let loop = EmbeddedEventLoop()
      let slot = Slot(0)
      let promise = loop.makePromise(of: Int.self)
      nioChain(links, from: promise.futureResult).whenSuccess { slot.value = $0 }
      promise.succeed(1)
      check(slot.value, is: links + 1)
    }
  }

  private func step(
    _ round: Int, _ rounds: Int, on loop: EmbeddedEventLoop
  ) -> EventLoopFuture<Int> {
    if round == rounds { return loop.makeSucceededFuture(round) }
    return loop.makeSucceededFuture(round &+ 1).flatMap { step($0, rounds, on: loop) }
  }
#endif
