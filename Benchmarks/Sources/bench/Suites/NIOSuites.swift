import Dispatch
import NIOCore
import NIOPosix

func addNIOSuites(to registry: inout Registry) {
  let library = "NIO loop"
  for withErrors in [false, true] {
    let name = withErrors ? "doxbee-errors" : "doxbee-sequential"
    registry.add(name, library: library, note: "submit") { count in
      let latch = Latch(count)
      let sum = Slot(0)
      for number in 0..<count {
        upload(number, withErrors).whenComplete { result in
          if case .success(let value) = result { sum.value &+= value }
          latch.countDown()
        }
      }
      latch.wait()
      check(sum.value, is: Upload.sum(count, withErrors: withErrors))
    }
  }
  registry.add("madeup-parallel", library: library, note: "submit") { count in
    let latch = Latch(count)
    let sum = Slot(0)
    for number in 0..<count {
      EventLoopFuture.whenAllSucceed((0..<Upload.width).map { call($0) }, on: loop)
        .flatMap { call($0.reduce(number, &+)) }
        .whenSuccess {
          sum.value &+= $0
          latch.countDown()
        }
    }
    latch.wait()
    check(sum.value, is: Upload.parallelSum(count))
  }
  registry.add("many-callbacks", library: library) { count in
    onLoop {
      let sum = Slot(0)
      for _ in 0..<count {
        let promise = loop.makePromise(of: Int.self)
        let future = promise.futureResult
        let mapped =
          future
          .map { $0 &+ 1 }
          .flatMap { loop.makeSucceededFuture($0 &+ 1) }
          .flatMapThrowing { $0 &+ 1 }
          .flatMapError { _ in loop.makeSucceededFuture(0) }
          .flatMapResult { Result<Int, any Error>.success($0 &+ 1) }
          .always { _ in }
        mapped.and(future).whenSuccess { sum.value &+= $0 &+ $1 }
        mapped.map { _ in () }.whenComplete { _ in }
        promise.succeed(1)
      }
      check(sum.value, is: 6 * count)
    }
  }
  registry.add("sleep-drift", library: library, note: "scheduleTask") { count in
    let done = DispatchSemaphore(value: 0)
    sleep(count).whenComplete { _ in done.signal() }
    done.wait()
  }
}

private let loop = MultiThreadedEventLoopGroup(numberOfThreads: 1).next()

private func onLoop(_ work: @escaping @Sendable () -> Void) {
  let done = DispatchSemaphore(value: 0)
  loop.execute {
    work()
    done.signal()
  }
  done.wait()
}

private func call(_ number: Int) -> EventLoopFuture<Int> { loop.submit { number &+ 1 } }

private func upload(_ number: Int, _ withErrors: Bool) -> EventLoopFuture<Int> {
  call(number)
    .flatMap { call($0) }
    .flatMap { call($0) }
    .flatMap { call($0) }
    .flatMap { value in
      Upload.fails(number, withErrors) ? loop.makeFailedFuture(UploadFailure()) : call(value)
    }
    .flatMap { call($0) }
    .flatMap { call($0) }
    .flatMap { call($0) }
    .flatMapError { _ in call(number).map { _ in -1 } }
}

private func sleep(_ count: Int) -> EventLoopFuture<Void> {
  if count == 0 { return loop.makeSucceededVoidFuture() }
  return loop.scheduleTask(in: .milliseconds(1)) {}.futureResult.flatMap { sleep(count - 1) }
}
