import ArgumentParser
import Foundation

/// A deliberate fault, to check that a sanitizer detects such faults.
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

  /// Leaks two objects that retain each other, as a promise and its handler can.
  private func leak() {
    for _ in 0..<100 {
      let (one, other) = (Node(), Node())
      one.next = other
      other.next = one
    }
  }

  private func race() {
    // Deliberately unguarded.
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

private final class Node { var next: Node? }
