import Dispatch
import Synchronization

/// A simple promise: one lock, one value, and a list of observers.
func addMutexPromise(to registry: inout Registry) {
  let library = "Mutex promise"

  registry.add("inline-chain", library: library) { chains in
    let sum = Slot(0)
    for _ in 0..<chains {
      let root = MutexPromise<Int>()
      var promise = root
      for _ in 0..<chainLength { promise = promise.map { $0 &+ 1 } }
      promise.observe { sum.value &+= $0 }
      root.settle(1)
    }
    check(sum.value, is: chains * (chainLength + 1))
  }
  registry.add("resolved-map", library: library) { count in
    let sum = Slot(0)
    for _ in 0..<count {
      let promise = MutexPromise<Int>()
      promise.settle(1)
      promise.map { $0 &+ 1 }.observe { sum.value &+= $0 }
    }
    check(sum.value, is: 2 * count)
  }
  registry.add("fan-in", library: library) { count in
    let sum = Slot(0)
    var promises: [MutexPromise<Int>] = []
    promises.reserveCapacity(count)
    for _ in 0..<count { promises.append(MutexPromise()) }
    MutexPromise.all(promises).observe { sum.value = $0.reduce(0, &+) }
    for (index, promise) in promises.enumerated() { promise.settle(index) }
    check(sum.value, is: count * (count - 1) / 2)
  }
  registry.add("fan-out", library: library) { count in
    let total = Slot(0)
    let promise = MutexPromise<Int>()
    for _ in 0..<count { promise.observe { total.value &+= $0 } }
    promise.settle(1)
    check(total.value, is: count)
  }
  registry.add("contended-observe", library: library) { count in
    let promises = (0..<count).map { _ in MutexPromise<Int>() }
    let latch = Latch(count)
    contend(count) { number in
      promises[number].settle(number)
    } _: { number in
      promises[number].observe { _ in latch.countDown() }
    }
    latch.wait()
  }
  registry.add("contended-settle", library: library) { count in
    let promises = (0..<count).map { _ in MutexPromise<Int>() }
    let latch = Latch(count)
    for promise in promises { promise.observe { _ in latch.countDown() } }
    contend(count) { number in
      promises[number].settle(number)
    } _: { number in
      promises[number].settle(-number)
    }
    latch.wait()
  }
  registry.addAsync("await-value", library: library, note: "a checked continuation") { count in
    let promise = MutexPromise<Int>()
    promise.settle(1)
    var sum = 0
    for _ in 0..<count { sum &+= await promise.value }
    check(sum, is: count)
  }
  registry.add("async-bridge", library: library) { count in
    let latch = Latch(count)
    for _ in 0..<count {
      let source = MutexPromise<Int>()
      let result = MutexPromise<Int>()
      Task.detached { result.settle(await source.value) }
      result.observe { _ in latch.countDown() }
      source.settle(1)
    }
    latch.wait()
  }
  registry.addPending("pending-map-bytes", library: library) {
    let promise = MutexPromise<Int>()
    return (promise, promise.map { $0 &+ 1 })
  }
}

private final class MutexPromise<Value: Sendable>: Sendable {
  typealias Observer = @Sendable (Value) -> Void

  private enum State {
    case pending([Observer])
    case settled(Value)
  }

  private let state = Mutex(State.pending([]))

  @inline(never)
  func settle(_ value: Value) {
    let observers: [Observer] = state.withLock { state in
      guard case .pending(let observers) = state else { return [] }
      state = .settled(value)
      return observers
    }
    for observer in observers { observer(value) }
  }

  @inline(never)
  func observe(_ observer: @escaping Observer) {
    let settled: Value? = state.withLock { state in
      switch state {
      case .settled(let value):
        return value
      case .pending(var observers):
        // Releases the array first, because appending would otherwise copy it.
        state = .pending([])
        observers.append(observer)
        state = .pending(observers)
        return nil
      }
    }
    if let settled { observer(settled) }
  }

  @inline(never)
  func map<Mapped>(
    _ transform: @escaping @Sendable (Value) -> Mapped
  ) -> MutexPromise<Mapped> {
    let child = MutexPromise<Mapped>()
    observe { child.settle(transform($0)) }
    return child
  }

  private final class Join: Sendable {
    private let state: Mutex<(values: [Value?], missing: Int)>

    init(_ count: Int) { state = Mutex((Array(repeating: nil, count: count), count)) }

    /// Stores a value; returns all values if it was the last.
    func settle(_ index: Int, _ value: Value) -> [Value]? {
      state.withLock { state in
        state.values[index] = value
        state.missing -= 1
        return state.missing == 0 ? state.values.compactMap(\.self) : nil
      }
    }
  }

  static func all(_ promises: [MutexPromise]) -> MutexPromise<[Value]> {
    let joined = MutexPromise<[Value]>()
    let join = Join(promises.count)
    for (index, promise) in promises.enumerated() {
      promise.observe { value in
        if let values = join.settle(index, value) { joined.settle(values) }
      }
    }
    return joined
  }

  var value: Value {
    get async {
      await withCheckedContinuation { continuation in
        observe { continuation.resume(returning: $0) }
      }
    }
  }
}
