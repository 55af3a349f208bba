import Dispatch

// The parts that every program here has: a queue, a blocking wait, closures, errors, output.
struct Failure: Error {}

func work(_ value: Int, _ done: @escaping @Sendable (Result<Int, any Error>) -> Void) {
  DispatchQueue.global().async {
    done(value < 0 ? .failure(Failure()) : .success(value))
  }
}

let semaphore = DispatchSemaphore(value: 0)
work(1) { result in
  print(result)
  semaphore.signal()
}
semaphore.wait()
