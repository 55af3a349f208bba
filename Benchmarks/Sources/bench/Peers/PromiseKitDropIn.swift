#if Peers
  import Dispatch
  import PromiseKit

  /// The drop-in module for PromiseKit, which shows the cost for a project that changes only its
  /// manifest.
  func addPromiseKitDropIn(to registry: inout Registry) {
    let library = "PromiseKit module"
    // Pending promises are dropped on purpose; the results are checked.
    conf.logHandler = { _ in }
    let serial = DispatchQueue(label: "bench.serial")
    let concurrent = DispatchQueue(label: "bench.concurrent", attributes: .concurrent)

    registry.addThens(library: library) { count, semaphore in
      var promise = Promise.value(true)
      for _ in 1..<count { promise = promise.map(on: serial) { $0 } }
      _ = promise.done(on: serial) { _ in semaphore.signal() }
    }
    registry.addConcurrent(library: library) { latch in
      _ = Promise.value(true).done(on: concurrent) { _ in latch.countDown() }
    }
    registry.addSum("inline-chain", library: library) { chains, sum in
      for _ in 0..<chains {
        let (promise, resolver) = Promise<Int>.pending()
        chain(chainLength, from: promise, on: nil).pipe { sum.value &+= $0.value }
        resolver.fulfill(1)
      }
    }
    registry.addQueueChains(library: library) { end in
      let (promise, resolver) = Promise<Int>.pending()
      chain(chainLength, from: promise, on: serial).pipe { end($0.value) }
      resolver.fulfill(1)
    }
    registry.addSum("resolved-map", library: library) { count, sum in
      for _ in 0..<count {
        Promise.value(1).map(on: nil) { $0 &+ 1 }.pipe { sum.value &+= $0.value }
      }
    }
    registry.addSum("fan-in", library: library) { count, sum in
      let inputs = (0..<count).map { _ in Promise<Int>.pending() }
      when(fulfilled: inputs.map(\.promise)).pipe {
        if case .fulfilled(let values) = $0 { sum.value = values.reduce(0, &+) }
      }
      for (index, input) in inputs.enumerated() { input.resolver.fulfill(index) }
    }
    registry.addSum("fan-out", library: library) { count, sum in
      let (promise, resolver) = Promise<Int>.pending()
      for _ in 0..<count { promise.pipe { sum.value &+= $0.value } }
      resolver.fulfill(1)
    }
    registry.addContended(library: library) {
      Promise<Int>.pending()
    } settle: {
      $0.resolver.fulfill($1)
    } observe: { source, latch in
      source.promise.pipe { _ in latch.countDown() }
    }
    addDepth(to: &registry, library)
    addAwaiting(to: &registry, library)
  }

  extension PromiseKit.Result where T == Int {
    fileprivate var value: Int {
      if case .fulfilled(let value) = self { value } else { 0 }
    }
  }

  private func chain(
    _ links: Int, from root: Promise<Int>, on queue: DispatchQueue?
  ) -> Promise<Int> {
    var promise = root
    for _ in 0..<links { promise = promise.map(on: queue) { $0 &+ 1 } }
    return promise
  }

  private func addDepth(to registry: inout Registry, _ library: String) {
    registry.addSum("recursive-loop", library: library) { rounds, sum in
      step(0, rounds).pipe { sum.value = $0.value }
    }
    registry.addSum("deep-chain", library: library) { links, sum in
      let (promise, resolver) = Promise<Int>.pending()
      chain(links, from: promise, on: nil).pipe { sum.value = $0.value }
      resolver.fulfill(1)
    }
  }

  private func step(_ round: Int, _ rounds: Int) -> Promise<Int> {
    if round == rounds { return .value(round) }
    return Promise.value(round &+ 1).then(on: nil) { step($0, rounds) }
  }

  private func addAwaiting(to registry: inout Registry, _ library: String) {
    registry.addAsync("await-value", library: library, note: "async(), handlers in place") {
      count in
      // `async()` uses the default queues, and nothing serves the main queue here.
      conf.Q = (map: nil, return: nil)
      let promise = Promise.value(1)
      var sum = 0
      for _ in 0..<count { sum &+= (try? await promise.async()) ?? 0 }
      check(sum, is: count)
    }
    registry.addPending("pending-map-bytes", library: library) {
      let (promise, resolver) = Promise<Int>.pending()
      return (resolver, promise, promise.map(on: nil) { $0 &+ 1 })
    }
  }
#endif
