import Dispatch
@_spi(DropIns) import Pledge

func addPledgeSuites(to registry: inout Registry) {
  let library = "Pledge"
  registry.addUploads(library: library, note: "handlers in place") { number, withErrors, done in
    upload(number, withErrors).observe(on: .immediate) { done((try? $0.get()) ?? 0) }
  }
  registry.addRequests(
    "madeup-parallel", library: library, note: "handlers in place", sum: Upload.parallelSum
  ) { number, done in
    Promise.all((0..<Upload.width).map { call($0) })
      .then(on: .immediate) { call($0.reduce(number, &+)) }
      .observe(on: .immediate) { done((try? $0.get()) ?? 0) }
  }
  registry.add("many-callbacks", library: library) { count in
    let sum = Slot(0)
    for _ in 0..<count {
      let (promise, resolver) = Promise<Int>.withResolvers()
      let mapped = promise.map(on: .immediate) { $0 &+ 1 }
      let chained = mapped.then(on: .immediate) { Promise.value($0 &+ 1) }
      let thrown = chained.map(on: .immediate) { (value: Int) throws -> Int in value &+ 1 }
      let recovered = thrown.recover(on: .immediate) { _ in .value(0) }
      let result = recovered.mapResult(on: .immediate) { try $0.get() &+ 1 }
      let last = result.finally(on: .immediate) {}
      Promise.all(last, promise).observe(on: .immediate) { result in
        if case .success(let (first, second)) = result { sum.value &+= first &+ second }
      }
      last.asVoid().observe(on: .immediate) { _ in }
      resolver.fulfill(1)
    }
    check(sum.value, is: 6 * count)
  }
  registry.add("race", library: library) { count in
    let sum = Slot(0)
    for _ in 0..<count {
      let (left, leftResolver) = Promise<Int>.withResolvers()
      let (right, rightResolver) = Promise<Int>.withResolvers()
      Promise.race(left, right).observe(on: .immediate) { result in
        if case .success(let value) = result { sum.value &+= value }
      }
      leftResolver.fulfill(1)
      rightResolver.fulfill(2)
    }
    check(sum.value, is: count)
  }
  registry.add("sleep-drift", library: library) { count in
    let done = DispatchSemaphore(value: 0)
    sleep(count).observe(on: .immediate) { _ in done.signal() }
    done.wait()
  }
}

private let backend = DispatchQueue(label: "bench.backend")

private func call(_ number: Int) -> Promise<Int> {
  let (promise, resolver) = Promise<Int>.withResolvers()
  backend.async { resolver.fulfill(number &+ 1) }
  return promise
}

private func upload(_ number: Int, _ withErrors: Bool) -> Promise<Int> {
  let steps = call(number)
    .then(on: .immediate) { call($0) }
    .then(on: .immediate) { call($0) }
    .then(on: .immediate) { call($0) }
    .then(on: .immediate) { value in
      if Upload.fails(number, withErrors) { throw UploadFailure() }
      return call(value)
    }
    .then(on: .immediate) { call($0) }
    .then(on: .immediate) { call($0) }
    .then(on: .immediate) { call($0) }
  return steps.recover(on: .immediate) { _ in call(number).map(on: .immediate) { _ in -1 } }
}

private func sleep(_ count: Int) -> Promise<Void> {
  if count == 0 { return .value(()) }
  return Promise<Void>.after(.milliseconds(1)).then(on: .immediate) { sleep(count - 1) }
}
