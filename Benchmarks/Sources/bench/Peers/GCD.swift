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
    for _ in 0..<count { concurrent.async { latch.countDown() } }
    latch.wait()
  }
  registry.add("queue-chain", library: library) { hopChains($0, on: serial) }
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

private func hopChains(_ chains: Int, on queue: DispatchQueue) {
  let done = DispatchSemaphore(value: 0)
  for _ in 0..<chains {
    queue.async { hop(1, on: queue) { done.signal() } }
    done.wait()
  }
}

private func hop(_ link: Int, on queue: DispatchQueue, _ done: @escaping @Sendable () -> Void) {
  if link == chainLength { return done() }
  queue.async { hop(link + 1, on: queue, done) }
}
