import Dispatch

/// Handwritten callbacks: the floor of the published suites.
func addClosureSuites(to registry: inout Registry) {
  let library = "Closures"
  registry.addUploads(library: library, note: "nested callbacks", upload)
  registry.addRequests(
    "madeup-parallel", library: library, note: "a counter", sum: Upload.parallelSum
  ) { number, done in
    let state = Slot((left: Upload.width, sum: number))
    for index in 0..<Upload.width {
      call(index) { value in
        state.value.sum &+= value
        state.value.left -= 1
        if state.value.left == 0 { call(state.value.sum, done) }
      }
    }
  }
  registry.add("sleep-drift", library: "GCD", note: "asyncAfter") { count in
    let done = DispatchSemaphore(value: 0)
    sleep(count) { done.signal() }
    done.wait()
  }
}

/// A serial queue on which everything of one run happens.
private let backend = DispatchQueue(label: "bench.backend")

private func call(_ number: Int, _ done: @escaping @Sendable (Int) -> Void) {
  backend.async { done(number &+ 1) }
}

private func upload(
  _ number: Int, _ withErrors: Bool, _ done: @escaping @Sendable (Int) -> Void
) {
  call(number) { value in
    call(value) { value in
      call(value) { value in
        call(value) { value in
          if Upload.fails(number, withErrors) {
            call(number) { _ in done(-1) }
            return
          }
          call(value) { value in
            call(value) { value in
              call(value) { value in
                call(value, done)
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
