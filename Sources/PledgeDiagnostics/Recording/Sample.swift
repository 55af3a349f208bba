@_spi(DropIns) import Pledge

/// The promises that belong to the sample of the trace of the process.
///
/// It's a hash table that all threads use without a lock. A promise is in the bucket of its
/// identifier, which is a cache line; if the bucket is full, the promise isn't sampled. Only the
/// events of a sampled promise write to it.
enum Sample {
  private static let bucketSize = 8
  private static let bucketCount = 2048

  /// `nonisolated(unsafe)`: the pointer is constant, and the words are accessed atomically.
  private nonisolated(unsafe) static let words: UnsafeMutablePointer<Atomic<UInt>> = {
    let words = UnsafeMutablePointer<Atomic<UInt>>.allocate(capacity: bucketSize * bucketCount)
    for index in 0..<bucketSize * bucketCount { (words + index).initialize(to: Atomic(0)) }
    return words
  }()

  /// Empties the sample before a trace starts.
  static func removeAll() {
    for index in 0..<bucketSize * bucketCount { words[index].store(0, ordering: .relaxed) }
  }

  static func contains(_ promise: PromiseDiagnostics.PromiseID) -> Bool {
    index(of: promise.rawValue, in: bucket(promise)) != nil
  }

  /// Adds a promise.
  ///
  /// - Returns: False if its bucket is full.
  static func insert(_ promise: PromiseDiagnostics.PromiseID) -> Bool {
    let bucket = bucket(promise)
    while let index = index(of: 0, in: bucket) {
      let (isDone, _) = words[index].compareExchange(
        expected: 0, desired: promise.rawValue, ordering: .relaxed)
      if isDone { return true }
    }
    return false
  }

  static func remove(_ promise: PromiseDiagnostics.PromiseID) {
    if let index = index(of: promise.rawValue, in: bucket(promise)) {
      words[index].store(0, ordering: .relaxed)
    }
  }

  private static func bucket(_ promise: PromiseDiagnostics.PromiseID) -> Int {
    let hash = (promise.rawValue >> 4) &* 0x9E37_79B9_7F4A_7C15 >> 32
    return Int(hash % UInt(bucketCount)) * bucketSize
  }

  private static func index(of word: UInt, in bucket: Int) -> Int? {
    for index in bucket..<bucket + bucketSize where words[index].load(ordering: .relaxed) == word {
      return index
    }
    return nil
  }
}
