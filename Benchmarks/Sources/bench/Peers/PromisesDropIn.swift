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

    registry.addThens(library: library) { count, semaphore in
      var promise = Promise(true)
      for _ in 1..<count { promise = promise.then(on: serial) { $0 } }
      promise.then(on: serial) { _ in semaphore.signal() }
    }
    registry.addConcurrent(library: library) { latch in
      Promise(true).then(on: concurrent) { _ in latch.countDown() }
    }
    registry.addQueueChains(library: library) { end in
      let promise = Promise<Int>.pending()
      // The tenth link also reports the end, because every handler hops.
      chain(chainLength - 1, from: promise, on: serial).then(on: serial) { end($0 &+ 1) }
      promise.fulfill(1)
    }
    registry.addSum("fan-in", library: library, note: hops) { count, sum in
      let done = DispatchSemaphore(value: 0)
      let inputs = (0..<count).map { _ in Promise<Int>.pending() }
      all(on: serial, inputs).then(on: serial) { values in
        sum.value = values.reduce(0, &+)
        done.signal()
      }
      for (index, input) in inputs.enumerated() { input.fulfill(index) }
      done.wait()
    }
    registry.addSum("fan-out", library: library, note: hops) { count, sum in
      let latch = Latch(count)
      let promise = Promise<Int>.pending()
      for _ in 0..<count {
        promise.then(on: serial) { value in
          sum.value &+= value
          latch.countDown()
        }
      }
      promise.fulfill(1)
      latch.wait()
    }
    registry.addContended(library: library, note: hops) {
      Promise<Int>.pending()
    } settle: {
      $0.fulfill($1)
    } observe: { promise, latch in
      promise.then(on: serial) { _ in latch.countDown() }
    }
    registry.addSum("deep-chain", library: library, note: hops) { links, sum in
      let done = DispatchSemaphore(value: 0)
      let promise = Promise<Int>.pending()
      chain(links, from: promise, on: serial).then(on: serial) { value in
        sum.value = value
        done.signal()
      }
      promise.fulfill(1)
      done.wait()
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
#endif
