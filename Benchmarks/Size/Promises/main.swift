import Dispatch
import Promises

struct Failure: Error {}

func work(_ value: Int) -> Promise<Int> {
  Promise<Int>(on: .global()) { fulfill, reject in
    if value < 0 { reject(Failure()) } else { fulfill(value) }
  }
}

func run() {
  let queue = DispatchQueue.global()
  let semaphore = DispatchSemaphore(value: 0)
  let chained = work(1)
    .then(on: queue) { work($0 + 1) }
    .then(on: queue) { $0 + 1 }
    .recover(on: queue) { _ in 0 }
  all(on: queue, [chained, work(2)])
    .then(on: queue) { values in
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
