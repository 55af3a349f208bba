import Dispatch
import Synchronization

/// The floor for promises that hop for every handler and count the hops in a group, as Google's do.
///
/// For each workload, it does only that, with a locked box instead of a promise, and one
/// `async(group:)` per handler.
func addGroupHops(to registry: inout Registry) {
  let library = "Group hops"
  let group = DispatchGroup()
  let serial = DispatchQueue(label: "bench.serial")
  let concurrent = DispatchQueue(label: "bench.concurrent", attributes: .concurrent)

  registry.addThens(library: library) { count, semaphore in
    var box = HopBox(1)
    for _ in 1..<count {
      let next = HopBox()
      box.observe(on: serial, group) { next.fulfill($0) }
      box = next
    }
    box.observe(on: serial, group) { _ in semaphore.signal() }
  }
  registry.addConcurrent(library: library) { latch in
    HopBox(1).observe(on: concurrent, group) { _ in latch.countDown() }
  }
  registry.addSum("fan-in", library: library) { count, sum in
    let done = DispatchSemaphore(value: 0)
    let values = Slot([Int](repeating: 0, count: count))
    let missing = Slot(count)
    let inputs = (0..<count).map { _ in HopBox() }
    for (index, input) in inputs.enumerated() {
      input.observe(on: serial, group) { value in
        values.value[index] = value
        missing.value -= 1
        if missing.value == 0 { done.signal() }
      }
    }
    for (index, input) in inputs.enumerated() { input.fulfill(index) }
    done.wait()
    sum.value = values.value.reduce(0, &+)
  }
  registry.addSum("fan-out", library: library) { count, sum in
    let latch = Latch(count)
    let box = HopBox()
    for _ in 0..<count {
      box.observe(on: serial, group) { value in
        sum.value &+= value
        latch.countDown()
      }
    }
    box.fulfill(1)
    latch.wait()
  }
  registry.addContended(library: library) {
    HopBox()
  } settle: {
    $0.fulfill($1)
  } observe: { box, latch in
    box.observe(on: serial, group) { _ in latch.countDown() }
  }
}

/// A number that will be set, and the closures that wait for it.
private final class HopBox: Sendable {
  private struct Observer {
    let queue: DispatchQueue
    let group: DispatchGroup
    let handler: @Sendable (Int) -> Void

    func send(_ value: Int) {
      let handler = handler
      queue.async(group: group) { handler(value) }
    }
  }

  private enum State {
    case pending([Observer])
    case fulfilled(Int)
  }

  private let state: Mutex<State>

  init() { state = Mutex(.pending([])) }
  init(_ value: Int) { state = Mutex(.fulfilled(value)) }

  func observe(
    on queue: DispatchQueue, _ group: DispatchGroup, _ handler: @escaping @Sendable (Int) -> Void
  ) {
    let observer = Observer(queue: queue, group: group, handler: handler)
    let value: Int? = state.withLock { state in
      switch state {
      case .fulfilled(let value): return value
      case .pending(var observers):
        // Removed from the state, so that it is appended to in place.
        state = .pending([])
        observers.append(observer)
        state = .pending(observers)
        return nil
      }
    }
    if let value { observer.send(value) }
  }

  func fulfill(_ value: Int) {
    let observers: [Observer] = state.withLock { state in
      guard case .pending(let observers) = state else { return [] }
      state = .fulfilled(value)
      return observers
    }
    for observer in observers { observer.send(value) }
  }
}
