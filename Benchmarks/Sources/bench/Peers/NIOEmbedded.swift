#if Peers
  import NIOCore
  import NIOEmbedded

  /// `EventLoopFuture` with a loop that costs nothing: it is always on the right thread, without
  /// hops.
  ///
  /// An embedded loop belongs to the thread that creates it, so every body creates its own.
  func addNIOEmbedded(to registry: inout Registry) {
    let library = "NIO embedded"

    registry.addInPlace(library: library) { work in work(EmbeddedEventLoop()) }
    registry.addSum("recursive-loop", library: library, limit: .stack(above: 20_000)) {
      rounds, sum in
      step(0, rounds, on: EmbeddedEventLoop()).whenSuccess { sum.value = $0 }
    }
    registry.addSum("deep-chain", library: library) { links, sum in
      let promise = EmbeddedEventLoop().makePromise(of: Int.self)
      nioChain(links, from: promise.futureResult).whenSuccess { sum.value = $0 }
      promise.succeed(1)
    }
  }

  private func step(
    _ round: Int, _ rounds: Int, on loop: EmbeddedEventLoop
  ) -> EventLoopFuture<Int> {
    if round == rounds { return loop.makeSucceededFuture(round) }
    return loop.makeSucceededFuture(round &+ 1).flatMap { step($0, rounds, on: loop) }
  }
#endif
