import Dispatch
@_spi(DropIns) import Pledge

/// Pledge, used as a client package uses it.
func addPledge(to registry: inout Registry) {
  let library = "Pledge"
  // Pending promises are dropped on purpose; the results are checked.
  PromiseDiagnostics.setUnhandledRejectionHandler { _ in }
  let serial = DispatchQueue(label: "bench.serial")
  let concurrent = DispatchQueue(label: "bench.concurrent", attributes: .concurrent)

  registry.addThens(library: library) { count, semaphore in
    var promise = Promise.value(true)
    for _ in 1..<count { promise = promise.map(on: serial) { $0 } }
    _ = promise.map(on: serial) { _ in semaphore.signal() }
  }
  registry.addConcurrent(library: library) { latch in
    _ = Promise.value(true).map(on: concurrent) { _ in latch.countDown() }
  }
  registry.addSum("inline-chain", library: library) { chains, sum in
    for _ in 0..<chains {
      let (promise, resolver) = Promise<Int>.withResolvers()
      chain(chainLength, from: promise, on: .immediate)
        .observe(on: .immediate) { sum.value &+= $0.value }
      resolver.fulfill(1)
    }
  }
  registry.addQueueChains(library: library) { end in
    let (promise, resolver) = Promise<Int>.withResolvers()
    chain(chainLength, from: promise, on: serial).observe(on: .immediate) { end($0.value) }
    resolver.fulfill(1)
  }
  registry.addSum("resolved-map", library: library) { count, sum in
    for _ in 0..<count {
      Promise.value(1).map(on: .immediate) { $0 &+ 1 }
        .observe(on: .immediate) { sum.value &+= $0.value }
    }
  }
  registry.addSum("fan-in", library: library) { count, sum in
    let inputs = (0..<count).map { _ in Promise<Int>.withResolvers() }
    Promise.all(inputs.map(\.promise))
      .observe(on: .immediate) { sum.value = ((try? $0.get()) ?? []).reduce(0, &+) }
    for (index, input) in inputs.enumerated() { input.resolver.fulfill(index) }
  }
  registry.addSum("fan-out", library: library) { count, sum in
    let (promise, resolver) = Promise<Int>.withResolvers()
    for _ in 0..<count { promise.observe(on: .immediate) { sum.value &+= $0.value } }
    resolver.fulfill(1)
  }
  registry.addContended(library: library) {
    Promise<Int>.withResolvers()
  } settle: {
    $0.resolver.fulfill($1)
  } observe: { source, latch in
    source.promise.observe(on: .immediate) { _ in latch.countDown() }
  }
  addDepth(to: &registry, library)
  addAwaiting(to: &registry, library)
}

extension Result where Success == Int {
  fileprivate var value: Int {
    if case .success(let value) = self { value } else { 0 }
  }
}

private func chain(
  _ links: Int, from root: Promise<Int>, on executor: some PromiseExecutor
) -> Promise<Int> {
  var promise = root
  for _ in 0..<links { promise = promise.map(on: executor) { $0 &+ 1 } }
  return promise
}

private func addDepth(to registry: inout Registry, _ library: String) {
  registry.addSum("recursive-loop", library: library) { rounds, sum in
    step(0, rounds).observe(on: .immediate) { sum.value = $0.value }
  }
  registry.addSum("deep-chain", library: library) { links, sum in
    let (promise, resolver) = Promise<Int>.withResolvers()
    chain(links, from: promise, on: .immediate)
      .observe(on: .immediate) { sum.value = $0.value }
    resolver.fulfill(1)
  }
}

private func step(_ round: Int, _ rounds: Int) -> Promise<Int> {
  if round == rounds { return .value(round) }
  return Promise.value(round &+ 1).then(on: .immediate) { step($0, rounds) }
}

private func addAwaiting(to registry: inout Registry, _ library: String) {
  registry.addAsync("await-value", library: library) { count in
    let promise = Promise.value(1)
    var sum = 0
    for _ in 0..<count { sum &+= (try? await promise.value) ?? 0 }
    check(sum, is: count)
  }
  registry.add("cancel", library: library) { count in
    let told = Latch(count)
    for _ in 0..<count {
      let (promise, resolver) = Promise<Int>.withResolvers()
      resolver.onCancel { told.countDown() }
      promise.map(on: .immediate) { $0 &+ 1 }.cancel()
    }
    told.wait()
  }
  registry.add("timer", library: library) { count in
    let inputs = (0..<count).map { _ in Promise<Int>.withResolvers() }
    let limited = inputs.map { $0.promise.timeout(after: .seconds(3600)) }
    for input in inputs { input.resolver.fulfill(1) }
    check(limited.count { $0.currentResult?.value == 1 }, is: count)
  }
  registry.addPending("pending-map-bytes", library: library) {
    let (promise, resolver) = Promise<Int>.withResolvers()
    return (resolver, promise, promise.map(on: .immediate) { $0 &+ 1 })
  }
}
