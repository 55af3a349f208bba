#if Peers
  import Dispatch
  import Promises

  /// The drop-in module for Google's Promises, in which every handler hops to a queue.
  ///
  /// Work that other libraries do in place hops here as well, and the workload waits for the last
  /// hop.
  func addPromisesDropIn(to registry: inout Registry) {
    let library = "Promises module"
    let serial = DispatchQueue(label: "bench.serial")
    let concurrent = DispatchQueue(label: "bench.concurrent", attributes: .concurrent)
    let hops = "every handler hops to a serial queue"

    for count in 1...3 {
      registry.add("google-then-\(count)", library: library) { tries in
        let semaphore = DispatchSemaphore(value: 0)
        for _ in 0..<tries {
          var promise = Promise(true)
          for _ in 1..<count { promise = promise.then(on: serial) { $0 } }
          promise.then(on: serial) { _ in semaphore.signal() }
          semaphore.wait()
        }
      }
    }
    registry.add("google-concurrent", library: library) { count in
      let latch = Latch(count)
      for _ in 0..<count { Promise(true).then(on: concurrent) { _ in latch.countDown() } }
      latch.wait()
    }
    registry.add("queue-chain", library: library) { hopChains($0, on: serial) }
    registry.add("fan-in", library: library, note: hops) { count in
      let done = DispatchSemaphore(value: 0)
      let sum = Slot(0)
      let inputs = (0..<count).map { _ in Promise<Int>.pending() }
      all(on: serial, inputs).then(on: serial) { values in
        sum.value = values.reduce(0, &+)
        done.signal()
      }
      for (index, input) in inputs.enumerated() { input.fulfill(index) }
      done.wait()
      check(sum.value, is: count * (count - 1) / 2)
    }
    registry.add("fan-out", library: library, note: hops) { count in
      let latch = Latch(count)
      let total = Slot(0)
      let promise = Promise<Int>.pending()
      for _ in 0..<count {
        promise.then(on: serial) { value in
          total.value &+= value
          latch.countDown()
        }
      }
      promise.fulfill(1)
      latch.wait()
      check(total.value, is: count)
    }
    registry.addContended(library: library, note: hops) {
      Promise<Int>.pending()
    } settle: {
      $0.fulfill($1)
    } observe: { promise, latch in
      promise.then(on: serial) { _ in latch.countDown() }
    }
    registry.add("deep-chain", library: library, note: hops) { links in
      let done = DispatchSemaphore(value: 0)
      let result = Slot(0)
      let promise = Promise<Int>.pending()
      chain(links, from: promise, on: serial).then(on: serial) { value in
        result.value = value
        done.signal()
      }
      promise.fulfill(1)
      done.wait()
      check(result.value, is: links + 1)
    }
    registry.addAsync("await-value", library: library, note: "get()") { count in
      let promise = Promise(1)
      var sum = 0
      for _ in 0..<count { sum &+= (try? await promise.get()) ?? 0 }
      check(sum, is: count)
    }
    registry.addPending("pending-map-bytes", library: library) {
      let promise = Promise<Int>.pending()
      return (promise, promise.then { $0 &+ 1 })
    }
  }

  private func chain(
    _ links: Int, from root: Promise<Int>, on queue: DispatchQueue
  ) -> Promise<Int> {
    var promise = root
    for _ in 0..<links { promise = promise.then(on: queue) { $0 &+ 1 } }
    return promise
  }

  private func hopChains(_ chains: Int, on queue: DispatchQueue) {
    let done = DispatchSemaphore(value: 0)
    let total = Slot(0)
    for _ in 0..<chains {
      let promise = Promise<Int>.pending()
      // The tenth link also reports the end, because every handler hops.
      chain(chainLength - 1, from: promise, on: queue).then(on: queue) { value in
        total.value &+= value &+ 1
        done.signal()
      }
      promise.fulfill(1)
      done.wait()
    }
    check(total.value, is: chains * (chainLength + 1))
  }
#endif
