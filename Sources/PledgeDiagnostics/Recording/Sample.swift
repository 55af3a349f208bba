@_spi(DropIns) import Pledge

/// The promises that belong to the sample of the trace of the process.
///
/// It's a hash table that all threads use without a lock. A promise is in the bucket of its
/// identifier, which is a cache line; if the bucket is full, the promise isn't sampled. Only the
/// events of a sampled promise write to it.
///
/// `@unchecked Sendable`: the pointer is constant, and the words are accessed atomically.
struct Sample: @unchecked Sendable {
  /// Each thread's buffer has a copy, because a global variable takes longer to read.
  static let shared = Sample()

  private static let bucketSize = 8
  private static let bucketCount = 2048

  private let words: UnsafeMutablePointer<Atomic<UInt>>

  private init() {
    words = .allocate(capacity: Self.bucketSize * Self.bucketCount)
    for index in 0..<Self.bucketSize * Self.bucketCount {
      (words + index).initialize(to: Atomic(0))
    }
  }

  func removeAll() {
    for index in 0..<Self.bucketSize * Self.bucketCount {
      words[index].store(0, ordering: .relaxed)
    }
  }

  func contains(_ promise: PromiseDiagnostics.PromiseID) -> Bool {
    index(of: promise.rawValue, in: promise) != nil
  }

  func insert(_ promise: PromiseDiagnostics.PromiseID) -> Bool {
    while let index = index(of: 0, in: promise) {
      let (isDone, _) = words[index].compareExchange(
        expected: 0, desired: promise.rawValue, ordering: .relaxed)
      if isDone { return true }
    }
    return false
  }

  func remove(_ promise: PromiseDiagnostics.PromiseID) -> Bool {
    guard let index = index(of: promise.rawValue, in: promise) else { return false }
    words[index].store(0, ordering: .relaxed)
    return true
  }

  private func index(of word: UInt, in promise: PromiseDiagnostics.PromiseID) -> Int? {
    let hash = (promise.rawValue >> 4) &* 0x9E37_79B9_7F4A_7C15 >> 32
    let start = Int(hash % UInt(Self.bucketCount)) * Self.bucketSize
    return (start..<start + Self.bucketSize).first {
      words[$0].load(ordering: .relaxed) == word
    }
  }
}
