import Dispatch

/// Callbacks as one would write them by hand: the floor of the published suites.
func addClosureSuites(to registry: inout Registry) {
  let library = "Closures"
  for withErrors in [false, true] {
    let name = withErrors ? "doxbee-errors" : "doxbee-sequential"
    registry.add(name, library: library, note: "nested callbacks") { count in
      let latch = Latch(count)
      let sum = Slot(0)
      for number in 0..<count {
        upload(number, withErrors) { result in
          if case .success(let value) = result { sum.value &+= value }
          latch.countDown()
        }
      }
      latch.wait()
      check(sum.value, is: Upload.sum(count, withErrors: withErrors))
    }
  }
  registry.add("madeup-parallel", library: library, note: "a counter") { count in
    let latch = Latch(count)
    let sum = Slot(0)
    for number in 0..<count {
      let state = Slot((left: Upload.width, sum: number))
      for index in 0..<Upload.width {
        call(index) { value in
          state.value.sum &+= value
          state.value.left -= 1
          guard state.value.left == 0 else { return }
          call(state.value.sum) {
            sum.value &+= $0
            latch.countDown()
          }
        }
      }
    }
    latch.wait()
    check(sum.value, is: Upload.parallelSum(count))
  }
  registry.add("sleep-drift", library: "GCD", note: "asyncAfter") { count in
    let done = DispatchSemaphore(value: 0)
    sleep(count) { done.signal() }
    done.wait()
  }
}

/// Everything of one run happens on this queue, one thing at a time.
private let backend = DispatchQueue(label: "bench.backend")

private func call(_ number: Int, _ done: @escaping @Sendable (Int) -> Void) {
  backend.async { done(number &+ 1) }
}

private func upload(
  _ number: Int, _ withErrors: Bool,
  _ done: @escaping @Sendable (Result<Int, UploadFailure>) -> Void
) {
  call(number) { value in
    call(value) { value in
      call(value) { value in
        call(value) { value in
          if Upload.fails(number, withErrors) {
            call(number) { _ in done(.success(-1)) }
            return
          }
          call(value) { value in
            call(value) { value in
              call(value) { value in
                call(value) { done(.success($0)) }
              }
            }
          }
        }
      }
    }
  }
}

private func sleep(_ count: Int, _ done: @escaping @Sendable () -> Void) {
  if count == 0 { return done() }
  backend.asyncAfter(deadline: .now() + .milliseconds(1)) { sleep(count - 1, done) }
}
