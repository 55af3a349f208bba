import ArgumentParser
import Foundation

/// A fault on purpose: a sanitizer that does not see it would see nothing else either.
enum PlantedFault: String, ExpressibleByArgument {
  case leak, race
  case useAfterFree = "use-after-free"

  func commit() {
    switch self {
    case .leak: leak()
    case .race: race()
    case .useAfterFree: useAfterFree()
    }
  }

  /// Two objects that keep each other alive, as a promise and its handler would.
  private func leak() {
    for _ in 0..<100 {
      let (one, other) = (Node(), Node())
      one.next = other
      other.next = one
    }
  }

  private func race() {
    // Nothing guards it: that is the fault.
    nonisolated(unsafe) let memory = UnsafeMutablePointer<Int>.allocate(capacity: 1)
    memory.initialize(to: 0)
    let threads = DispatchGroup()
    for _ in 0..<2 {
      threads.enter()
      Thread.detachNewThread {
        for _ in 0..<1000 { memory.pointee += 1 }
        threads.leave()
      }
    }
    threads.wait()
    memory.deallocate()
  }

  private func useAfterFree() {
    let memory = UnsafeMutablePointer<Int>.allocate(capacity: 1)
    memory.initialize(to: 1)
    memory.deallocate()
    print(memory.pointee)
  }
}

private final class Node {
  var next: Node?
}
