// On Linux, each use of a `static let` that isn't a constant calls `swift_once`, which costs about
// 70 instructions. Values that the hot paths read are stored in global variables with constant
// initial values instead, whose use costs a load.

/// Calls `body` with a global variable as an atomic one, which has the same layout.
@inline(__always)
func withAtomic<Result>(
  _ word: UnsafeMutablePointer<UInt64>, _ body: (borrowing AtomicWord) -> Result
) -> Result {
  body(UnsafeRawPointer(word).assumingMemoryBound(to: AtomicWord.self).pointee)
}

/// Returns the object in `constant`, a `static let`, which `word` caches on first use.
///
/// `word` must initially be zero.
@inline(__always)
func cached<Object: AnyObject>(
  in word: UnsafeMutablePointer<UInt64>, _ constant: @autoclosure () -> Object
) -> Unmanaged<Object> {
  .fromOpaque(
    cached(in: word, UnsafeRawPointer(Unmanaged.passUnretained(constant()).toOpaque())))
}

/// Returns the address in `constant`, a `static let`, which `word` caches on first use.
///
/// `word` must initially be zero.
@inline(__always)
func cached(
  in word: UnsafeMutablePointer<UInt64>, _ constant: @autoclosure () -> UnsafeRawPointer
) -> UnsafeRawPointer {
  let address = withAtomic(word) { $0.load(ordering: .acquiring) }
  if let pointer = UnsafeRawPointer(bitPattern: UInt(address)) { return pointer }
  let pointer = constant()
  withAtomic(word) { $0.store(UInt64(UInt(bitPattern: pointer)), ordering: .releasing) }
  return pointer
}
