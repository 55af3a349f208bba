import Dispatch
import Glibc
import Synchronization

/// One thread's units of work.
///
/// `@unchecked Sendable`: `units` is used by the thread, and read after it has ended.
final class Lane: @unchecked Sendable {
  static let batch = 64
  private(set) var units = 0
  private let nanoseconds = Atomic<UInt64>(0)
  private let outstanding = Atomic<Int>(0)
  private let ended = DispatchSemaphore(value: 0)

  /// The longest time from the begin of a unit to its end, in nanoseconds.
  var longest: UInt64 { nanoseconds.load(ordering: .relaxed) }

  /// Begins a batch of units, and waits until all have ended.
  func runBatch(_ thread: Int, _ work: ContentionRow.Work) {
    outstanding.store(Self.batch + 1, ordering: .relaxed)
    for _ in 0..<Self.batch {
      let start = DispatchTime.now().uptimeNanoseconds
      work(thread, units) { [self] in
        nanoseconds.max(DispatchTime.now().uptimeNanoseconds - start, ordering: .relaxed)
        if leave() { ended.signal() }
      }
      units += 1
    }
    if !leave() { ended.wait() }
  }

  private func leave() -> Bool {
    outstanding.subtract(1, ordering: .acquiringAndReleasing).newValue == 0
  }
}

/// A value that is guarded by a mutex of the C library.
///
/// `@unchecked Sendable`: the value is guarded by the mutex.
final class Locked<Value>: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private var value: Value

  init(_ value: Value) {
    self.value = value
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  func with<Result>(_ body: (inout Value) -> Result) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body(&value)
  }
}
