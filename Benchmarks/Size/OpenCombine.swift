import Dispatch
import OpenCombine
import OpenCombineDispatch

struct Failure: Error {}

struct Sent<Value>: @unchecked Sendable {
  let value: Value
}

func work(_ value: Int) -> Future<Int, any Error> {
  Future { settle in
    let settle = Sent(value: settle)
    DispatchQueue.global().async {
      settle.value(value < 0 ? .failure(Failure()) : .success(value))
    }
  }
}

func run() {
  let semaphore = DispatchSemaphore(value: 0)
  let chained = work(1)
    .flatMap { work($0 + 1) }
    .map { $0 + 1 }
    .catch { _ in Just(0).setFailureType(to: (any Error).self) }
  let token = chained.zip(work(2))
    .receive(on: DispatchQueue.global().ocombine)
    .sink { completion in
      print(completion)
      semaphore.signal()
    } receiveValue: { value in
      print(value)
    }
  semaphore.wait()
  withExtendedLifetime(token) {}
}

run()
