import Dispatch
@_spi(DropIns) import Pledge

struct Failure: Error {}

func work(_ value: Int) -> Promise<Int> {
  let (promise, resolver) = Promise<Int>.withResolvers()
  DispatchQueue.global().async {
    if value < 0 { resolver.reject(Failure()) } else { resolver.fulfill(value) }
  }
  return promise
}

func run() {
  let queue = DispatchQueue.global()
  let semaphore = DispatchSemaphore(value: 0)
  let chained = work(1)
    .then(on: queue) { work($0 + 1) }
    .map(on: queue) { $0 + 1 }
    .recover(on: queue) { _ in .value(0) }
  Promise.all([chained, work(2)])
    .observe(on: queue) { result in
      print(result)
      semaphore.signal()
    }
  semaphore.wait()
}

run()
