import Dispatch
import NIOCore
import NIOPosix

struct Failure: Error {}

let group = MultiThreadedEventLoopGroup.singleton

func work(_ value: Int) -> EventLoopFuture<Int> {
  let promise = group.next().makePromise(of: Int.self)
  DispatchQueue.global().async {
    if value < 0 { promise.fail(Failure()) } else { promise.succeed(value) }
  }
  return promise.futureResult
}

func run() {
  let semaphore = DispatchSemaphore(value: 0)
  let chained = work(1)
    .flatMap { work($0 + 1) }
    .map { $0 + 1 }
    .flatMapErrorThrowing { _ in 0 }
  EventLoopFuture.whenAllSucceed([chained, work(2)], on: group.next())
    .whenComplete { result in
      print(result)
      semaphore.signal()
    }
  semaphore.wait()
}

run()
