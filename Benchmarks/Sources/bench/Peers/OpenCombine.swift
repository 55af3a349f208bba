import Dispatch
import OpenCombine
import OpenCombineDispatch

/// `Future`, with type-erased publishers in between, because a promise has one type however long
/// the chain is.
func addOpenCombine(to registry: inout Registry) {
  let library = "OpenCombine"
  let serial = DispatchQueue(label: "bench.serial")
  let concurrent = DispatchQueue(label: "bench.concurrent", attributes: .concurrent)

  for count in 1...3 {
    registry.add("google-then-\(count)", library: library) { tries in
      let semaphore = DispatchSemaphore(value: 0)
      for _ in 0..<tries {
        let promise = hops(count, from: resolved(1), on: serial)
        let token = promise.sink { _ in semaphore.signal() }
        semaphore.wait()
        withExtendedLifetime(token) {}
      }
    }
  }
  registry.add(
    "google-concurrent", library: library,
    limit: .never("loses values on a concurrent queue, where completion may overtake them")
  ) { count in
    let latch = Latch(count)
    let tokens = (0..<count).map { _ in
      hops(1, from: resolved(1), on: concurrent).sink { _ in latch.countDown() }
    }
    latch.wait()
    withExtendedLifetime(tokens) {}
  }
  registry.add("inline-chain", library: library) { chains in
    var sum = 0
    for _ in 0..<chains {
      let (future, settle) = pending()
      let token = chain(chainLength, from: future).sink { sum &+= $0 }
      settle(.success(1))
      withExtendedLifetime(token) {}
    }
    check(sum, is: chains * (chainLength + 1))
  }
  registry.add("queue-chain", library: library) { hopChains($0, on: serial) }
  registry.add("main-actor-chain", library: library) { hopChains($0, on: .main) }
  registry.add("resolved-map", library: library) { count in
    var sum = 0
    for _ in 0..<count {
      let token = Future<Int, Never> { $0(.success(1)) }.map { $0 &+ 1 }.sink { sum &+= $0 }
      withExtendedLifetime(token) {}
    }
    check(sum, is: 2 * count)
  }
  registry.add("fan-in", library: library, note: "flatMap and collect") { count in
    var sum = 0
    let promises = (0..<count).map { _ in pending() }
    let token = promises.map(\.future).publisher
      .flatMap { $0 }
      .collect()
      .sink { sum = $0.reduce(0, &+) }
    for (index, promise) in promises.enumerated() { promise.settle(.success(index)) }
    withExtendedLifetime(token) {}
    check(sum, is: count * (count - 1) / 2)
  }
  registry.add("fan-out", library: library) { count in
    var total = 0
    let (future, settle) = pending()
    let tokens = (0..<count).map { _ in future.sink { total &+= $0 } }
    settle(.success(1))
    withExtendedLifetime(tokens) {}
    check(total, is: count)
  }
  addContended(to: &registry, library)
  addDepth(to: &registry, library, serial)
  addAwaiting(to: &registry, library, serial)
}

private typealias Settle = Future<Int, Never>.Promise

/// Sends a value that the library doesn't mark as `Sendable` to another thread, which its locks
/// allow.
private struct Sent<Value>: @unchecked Sendable {
  let value: Value
}

private func pending() -> (future: Future<Int, Never>, settle: Settle) {
  var settle: Settle?
  let future = Future<Int, Never> { settle = $0 }
  guard let settle else { fatalError("the closure runs at once") }
  return (future, settle)
}

private func resolved(_ value: Int) -> AnyPublisher<Int, Never> {
  Future { $0(.success(value)) }.eraseToAnyPublisher()
}

private func chain(_ links: Int, from root: Future<Int, Never>) -> AnyPublisher<Int, Never> {
  var publisher = root.eraseToAnyPublisher()
  for _ in 0..<links { publisher = publisher.map { $0 &+ 1 }.eraseToAnyPublisher() }
  return publisher
}

private func hops(
  _ links: Int, from root: AnyPublisher<Int, Never>, on queue: DispatchQueue
) -> AnyPublisher<Int, Never> {
  var publisher = root
  for _ in 0..<links {
    publisher = publisher.receive(on: queue.ocombine).map { $0 &+ 1 }.eraseToAnyPublisher()
  }
  return publisher
}

private func hopChains(_ chains: Int, on queue: DispatchQueue) {
  let semaphore = DispatchSemaphore(value: 0)
  let total = Slot(0)
  for _ in 0..<chains {
    let (future, settle) = pending()
    let token = hops(chainLength, from: future.eraseToAnyPublisher(), on: queue).sink {
      total.value &+= $0
      semaphore.signal()
    }
    settle(.success(1))
    semaphore.wait()
    withExtendedLifetime(token) {}
  }
  check(total.value, is: chains * (chainLength + 1))
}

private func addContended(to registry: inout Registry, _ library: String) {
  registry.add("contended-observe", library: library) { count in
    let promises = Sent(value: (0..<count).map { _ in pending() })
    let tokens = Slot<[AnyCancellable]>([])
    let latch = Latch(count)
    tokens.value.reserveCapacity(count)
    contend(count) { number in
      promises.value[number].settle(.success(number))
    } _: { number in
      tokens.value.append(promises.value[number].future.sink { _ in latch.countDown() })
    }
    latch.wait()
  }
  registry.add("contended-settle", library: library) { count in
    let promises = Sent(value: (0..<count).map { _ in pending() })
    let latch = Latch(count)
    let tokens = promises.value.map { $0.future.sink { _ in latch.countDown() } }
    contend(count) { number in
      promises.value[number].settle(.success(number))
    } _: { number in
      promises.value[number].settle(.success(-number))
    }
    latch.wait()
    withExtendedLifetime(tokens) {}
  }
}

private func addDepth(
  to registry: inout Registry, _ library: String, _ queue: DispatchQueue
) {
  registry.add("recursive-loop", library: library, limit: .stack(above: 4_000)) { rounds in
    var result = 0
    let token = step(0, rounds, on: nil).sink { result = $0 }
    withExtendedLifetime(token) {}
    check(result, is: rounds)
  }
  registry.add("recursive-loop-queue", library: library, limit: .stack(above: 30_000)) { rounds in
    let done = DispatchSemaphore(value: 0)
    let slot = Slot(0)
    let token = step(0, rounds, on: queue).sink {
      slot.value = $0
      done.signal()
    }
    done.wait()
    withExtendedLifetime(token) {}
    check(slot.value, is: rounds)
  }
  registry.add("deep-chain", library: library, limit: .stack(above: 100)) { links in
    var result = 0
    let (future, settle) = pending()
    let token = chain(links, from: future).sink { result = $0 }
    settle(.success(1))
    withExtendedLifetime(token) {}
    check(result, is: links + 1)
  }
  registry.add("deep-chain-drop", library: library, limit: .stack(above: 100)) { links in
    let (future, settle) = pending()
    let token = chain(links, from: future).sink { consume($0) }
    withExtendedLifetime(token) {}
    withExtendedLifetime(settle) {}
  }
}

private func step(
  _ round: Int, _ rounds: Int, on queue: DispatchQueue?
) -> AnyPublisher<Int, Never> {
  if round == rounds { return resolved(round) }
  var work = resolved(round &+ 1)
  if let queue { work = work.receive(on: queue.ocombine).eraseToAnyPublisher() }
  return work.flatMap { step($0, rounds, on: queue) }.eraseToAnyPublisher()
}

private func addAwaiting(
  to registry: inout Registry, _ library: String, _ queue: DispatchQueue
) {
  registry.addAsync("await-value", library: library) { count in
    let future = Future<Int, Never> { $0(.success(1)) }
    var sum = 0
    for _ in 0..<count { sum &+= await future.value }
    check(sum, is: count)
  }
  registry.add("async-bridge", library: library) { count in
    let latch = Latch(count)
    let tokens = (0..<count).map { _ in
      let source = Sent(value: pending())
      let result = Sent(value: pending())
      Task.detached { result.value.settle(.success(await source.value.future.value)) }
      let token = result.value.future.sink { _ in latch.countDown() }
      source.value.settle(.success(1))
      return token
    }
    latch.wait()
    withExtendedLifetime(tokens) {}
  }
  registry.add("cancel", library: library) { count in
    var cancelled = 0
    for _ in 0..<count {
      let token = pending().future
        .handleEvents(receiveCancel: { cancelled += 1 })
        .map { $0 &+ 1 }
        .sink { consume($0) }
      token.cancel()
    }
    check(cancelled, is: count)
  }
  registry.add("timer", library: library, note: "timeout") { count in
    let latch = Latch(count)
    let promises = (0..<count).map { _ in pending() }
    let tokens = promises.map {
      $0.future.timeout(.seconds(3600), scheduler: queue.ocombine).sink { _ in latch.countDown() }
    }
    for promise in promises { promise.settle(.success(1)) }
    latch.wait()
    withExtendedLifetime(tokens) {}
  }
  registry.addPending("pending-map-bytes", library: library) {
    let (future, settle) = pending()
    let token = future.map { $0 &+ 1 }.sink { consume($0) }
    return (settle, token)
  }
}
