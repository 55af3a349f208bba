import Dispatch
import NIOCore

func addNIOSuites(to registry: inout Registry) {
  let library = "NIO loop"
  registry.addUploads(library: library, note: "submit") { number, withErrors, done in
    upload(number, withErrors).whenSuccess(done)
  }
  registry.addRequests(
    "madeup-parallel", library: library, note: "submit", sum: Upload.parallelSum
  ) { number, done in
    EventLoopFuture.whenAllSucceed((0..<Upload.width).map { call($0) }, on: nioLoop)
      .flatMap { call($0.reduce(number, &+)) }
      .whenSuccess(done)
  }
  registry.add("many-callbacks", library: library) { count in
    onNIOLoop {
      let sum = Slot(0)
      for _ in 0..<count {
        let promise = nioLoop.makePromise(of: Int.self)
        let future = promise.futureResult
        let mapped =
          future
          .map { $0 &+ 1 }
          .flatMap { nioLoop.makeSucceededFuture($0 &+ 1) }
          .flatMapThrowing { $0 &+ 1 }
          .flatMapError { _ in nioLoop.makeSucceededFuture(0) }
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

private func call(_ number: Int) -> EventLoopFuture<Int> { nioLoop.submit { number &+ 1 } }

private func upload(_ number: Int, _ withErrors: Bool) -> EventLoopFuture<Int> {
  call(number)
    .flatMap { call($0) }
    .flatMap { call($0) }
    .flatMap { call($0) }
    .flatMap { value in
      Upload.fails(number, withErrors) ? nioLoop.makeFailedFuture(UploadFailure()) : call(value)
    }
    .flatMap { call($0) }
    .flatMap { call($0) }
    .flatMap { call($0) }
    .flatMapError { _ in call(number).map { _ in -1 } }
}

private func sleep(_ count: Int) -> EventLoopFuture<Void> {
  if count == 0 { return nioLoop.makeSucceededVoidFuture() }
  return nioLoop.scheduleTask(in: .milliseconds(1)) {}.futureResult.flatMap { sleep(count - 1) }
}
