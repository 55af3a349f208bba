import Dispatch

/// The floor for everything that hops: the cost of Dispatch without promises.
func addGCD(to registry: inout Registry) {
  let library = "GCD"
  let serial = DispatchQueue(label: "bench.serial")
  let concurrent = DispatchQueue(label: "bench.concurrent", attributes: .concurrent)

  registry.addThens(library: library) { count, semaphore in
    hop(count, on: serial) { semaphore.signal() }
  }
  registry.addConcurrent(library: library) { latch in concurrent.async { latch.countDown() } }
  registry.addQueueChains(library: library) { end in
    hop(chainLength, on: serial) { end(chainLength + 1) }
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

/// Calls `done` after a number of hops.
private func hop(_ count: Int, on queue: DispatchQueue, _ done: @escaping @Sendable () -> Void) {
  if count == 0 { return done() }
  queue.async { hop(count - 1, on: queue, done) }
}
