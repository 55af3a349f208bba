import Dispatch

/// The floor for everything that hops: the cost of Dispatch without promises.
func addGCD(to registry: inout Registry) {
  let library = "GCD"
  let serial = DispatchQueue(label: "bench.serial")
  let concurrent = DispatchQueue(label: "bench.concurrent", attributes: .concurrent)

  registry.add("google-then-1", library: library) { tries in
    let semaphore = DispatchSemaphore(value: 0)
    for _ in 0..<tries {
      serial.async { semaphore.signal() }
      semaphore.wait()
    }
  }
  registry.add("google-then-2", library: library) { tries in
    let semaphore = DispatchSemaphore(value: 0)
    for _ in 0..<tries {
      serial.async { serial.async { semaphore.signal() } }
      semaphore.wait()
    }
  }
  registry.add("google-then-3", library: library) { tries in
    let semaphore = DispatchSemaphore(value: 0)
    for _ in 0..<tries {
      serial.async { serial.async { serial.async { semaphore.signal() } } }
      semaphore.wait()
    }
  }
  registry.add("google-concurrent", library: library) { count in
    let latch = Latch(count)
    for _ in 0..<count {
      concurrent.async { latch.countDown() }
    }
    latch.wait()
  }
  registry.add("queue-chain", library: library) { hopChains($0, on: serial, .oneByOne) }
  registry.add("queue-chains", library: library) { hopChains($0, on: serial, .together) }
  registry.add("main-actor-chain", library: library) { hopChains($0, on: .main, .oneByOne) }
  registry.add("recursive-loop-queue", library: library) { rounds in
    let semaphore = DispatchSemaphore(value: 0)
    serial.async { loop(0, rounds, on: serial) { semaphore.signal() } }
    semaphore.wait()
  }
  registry.add("cancel", library: library, note: "DispatchWorkItem, no producer to tell") { count in
    for number in 0..<count {
      let item = DispatchWorkItem { consume(number) }
      item.cancel()
      check(item.isCancelled ? 1 : 0, is: 1)
    }
  }
  registry.add("timer", library: library, note: "a timer source each") { count in
    let hour = DispatchTime.now() + 3600
    var timers: [any DispatchSourceTimer] = []
    timers.reserveCapacity(count)
    for number in 0..<count {
      let timer = DispatchSource.makeTimerSource(queue: serial)
      timer.setEventHandler { consume(number) }
      timer.schedule(deadline: hour)
      timer.activate()
      timers.append(timer)
    }
    for timer in timers { timer.cancel() }
    // Cancelled sources are freed on their queue.
    serial.sync {}
  }
}

private func hopChains(_ chains: Int, on queue: DispatchQueue, _ pace: Pace) {
  let finish = Finish(of: chains, pace)
  for _ in 0..<chains {
    queue.async { hop(1, on: queue) { finish.chainEnded() } }
    finish.waitForChain()
  }
  finish.waitForAll()
}

private func hop(_ link: Int, on queue: DispatchQueue, _ done: @escaping @Sendable () -> Void) {
  if link == chainLength { return done() }
  queue.async { hop(link + 1, on: queue, done) }
}

private func loop(
  _ round: Int, _ rounds: Int, on queue: DispatchQueue, _ done: @escaping @Sendable () -> Void
) {
  if round == rounds { return done() }
  queue.async { loop(round + 1, rounds, on: queue, done) }
}
