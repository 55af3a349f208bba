import Dispatch
import PromiseKit

struct Failure: Error {}

func work(_ value: Int) -> Promise<Int> {
  Promise { seal in
    DispatchQueue.global().async {
      if value < 0 { seal.reject(Failure()) } else { seal.fulfill(value) }
    }
  }
}

func run() {
  let queue = DispatchQueue.global()
  let semaphore = DispatchSemaphore(value: 0)
  let chained = work(1)
    .then(on: queue) { work($0 + 1) }
    .map(on: queue) { $0 + 1 }
    .recover(on: queue) { _ in Promise.value(0) }
  when(fulfilled: [chained, work(2)])
    .done(on: queue) { values in
      print(values)
      semaphore.signal()
    }
    .catch(on: queue) { error in
      print(error)
      semaphore.signal()
    }
  semaphore.wait()
}

run()
