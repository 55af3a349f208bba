import Dispatch
@_spi(DropIns) import Pledge

/// Pledge, used as a client package uses it.
func addPledge(to registry: inout Registry) {
  let library = "Pledge"
  // Pending promises are dropped on purpose; the results are checked.
  PromiseDiagnostics.setUnhandledRejectionHandler { _ in }
  let serial = DispatchQueue(label: "bench.serial")
  let concurrent = DispatchQueue(label: "bench.concurrent", attributes: .concurrent)

  for count in 1...3 {
    registry.add("google-then-\(count)", library: library) { tries in
      let semaphore = DispatchSemaphore(value: 0)
      for _ in 0..<tries {
        var promise = Promise.value(true)
        for _ in 1..<count { promise = promise.map(on: serial) { $0 } }
        _ = promise.map(on: serial) { _ in semaphore.signal() }
        semaphore.wait()
      }
    }
  }
  registry.add("google-concurrent", library: library) { count in
    let latch = Latch(count)
    for _ in 0..<count { _ = Promise.value(true).map(on: concurrent) { _ in latch.countDown() } }
    latch.wait()
  }
  registry.add("inline-chain", library: library) { chains in
    let sum = Slot(0)
    for _ in 0..<chains {
      let (promise, resolver) = Promise<Int>.withResolvers()
      chain(chainLength, from: promise).observe(on: .immediate) { sum.value &+= $0.value }
      resolver.fulfill(1)
    }
    check(sum.value, is: chains * (chainLength + 1))
  }
  registry.add("queue-chain", library: library) { hopChains($0, on: serial) }
  registry.add("resolved-map", library: library) { count in
    let sum = Slot(0)
    for _ in 0..<count {
      Promise.value(1).map(on: .immediate) { $0 &+ 1 }
        .observe(on: .immediate) { sum.value &+= $0.value }
    }
    check(sum.value, is: 2 * count)
  }
  registry.add("fan-in", library: library) { count in
    let sum = Slot(0)
    let inputs = (0..<count).map { _ in Promise<Int>.withResolvers() }
    Promise.all(inputs.map(\.promise))
      .observe(on: .immediate) { sum.value = ((try? $0.get()) ?? []).reduce(0, &+) }
    for (index, input) in inputs.enumerated() { input.resolver.fulfill(index) }
    check(sum.value, is: count * (count - 1) / 2)
  }
  registry.add("fan-out", library: library) { count in
    let total = Slot(0)
    let (promise, resolver) = Promise<Int>.withResolvers()
    for _ in 0..<count { promise.observe(on: .immediate) { total.value &+= $0.value } }
    resolver.fulfill(1)
    check(total.value, is: count)
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

private func chain(_ links: Int, from root: Promise<Int>) -> Promise<Int> {
  var promise = root
  for _ in 0..<links { promise = promise.map(on: .immediate) { $0 &+ 1 } }
  return promise
}

private func hopChains(_ chains: Int, on executor: some PromiseExecutor) {
  let done = DispatchSemaphore(value: 0)
  let total = Slot(0)
  for _ in 0..<chains {
    let (root, resolver) = Promise<Int>.withResolvers()
    var promise = root
    for _ in 0..<chainLength { promise = promise.map(on: executor) { $0 &+ 1 } }
    promise.observe(on: .immediate) {
      total.value &+= $0.value
      done.signal()
    }
    resolver.fulfill(1)
    done.wait()
  }
  check(total.value, is: chains * (chainLength + 1))
}

private func addDepth(to registry: inout Registry, _ library: String) {
  registry.add("recursive-loop", library: library) { rounds in
    let slot = Slot(0)
    step(0, rounds).observe(on: .immediate) { slot.value = $0.value }
    check(slot.value, is: rounds)
  }
  registry.add("deep-chain", library: library) { links in
    let result = Slot(0)
    let (promise, resolver) = Promise<Int>.withResolvers()
    chain(links, from: promise).observe(on: .immediate) { result.value = $0.value }
    resolver.fulfill(1)
    check(result.value, is: links + 1)
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
