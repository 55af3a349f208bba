import Dispatch

func addConcurrencySuites(to registry: inout Registry) {
  let library = "Swift Concurrency"
  for withErrors in [false, true] {
    let name = withErrors ? "doxbee-errors" : "doxbee-sequential"
    registry.addAsync(name, library: library, note: "a task a request") { count in
      let sum = await withTaskGroup(of: Int.self) { group in
        for number in 0..<count { group.addTask { await upload(number, withErrors) } }
        return await group.reduce(0, &+)
      }
      check(sum, is: Upload.sum(count, withErrors: withErrors))
    }
  }
  registry.addAsync("madeup-parallel", library: library, note: "a task a call") { count in
    let sum = await withTaskGroup(of: Int.self) { group in
      for number in 0..<count {
        group.addTask {
          let all = await withTaskGroup(of: Int.self) { calls in
            for index in 0..<Upload.width { calls.addTask { await call(index) } }
            return await calls.reduce(number, &+)
          }
          return await call(all)
        }
      }
      return await group.reduce(0, &+)
    }
    check(sum, is: Upload.parallelSum(count))
  }
  registry.addAsync("race", library: library, note: "a task group of two") { count in
    var sum = 0
    for _ in 0..<count {
      sum &+= await withTaskGroup(of: Int.self) { group in
        group.addTask { 1 }
        group.addTask { 1 }
        defer { group.cancelAll() }
        return await group.next() ?? 0
      }
    }
    check(sum, is: count)
  }
  registry.addAsync("sleep-drift", library: library, note: "Task.sleep") { count in
    for _ in 0..<count { try? await Task.sleep(for: .milliseconds(1)) }
  }
}

private let backend = DispatchQueue(label: "bench.backend")

private func call(_ number: Int) async -> Int {
  await withUnsafeContinuation { continuation in
    backend.async { continuation.resume(returning: number &+ 1) }
  }
}

private func upload(_ number: Int, _ withErrors: Bool) async -> Int {
  do {
    var value = number
    for _ in 0..<4 { value = await call(value) }
    if Upload.fails(number, withErrors) { throw UploadFailure() }
    for _ in 0..<4 { value = await call(value) }
    return value
  } catch {
    _ = await call(number)
    return -1
  }
}
