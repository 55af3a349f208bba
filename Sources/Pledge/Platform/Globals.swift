// A `static let` that is not a constant costs a call of `swift_once` at each use on Linux, some 70
// instructions. What the hot paths read lies in global variables with constant initial values
// instead, which cost a load.

/// Lets `body` use a global variable as an atomic one: the two have one layout.
@inlinable @inline(__always)
func withAtomic<Result>(
  _ word: UnsafeMutablePointer<UInt>, _ body: (borrowing Atomic<UInt>) -> Result
) -> Result {
  body(UnsafeRawPointer(word).assumingMemoryBound(to: Atomic<UInt>.self).pointee)
}

/// The object of `constant`, a `static let`, which `word` caches from the first use on.
///
/// `word` is zero at first.
@inline(__always)
func cached<Object: AnyObject>(
  in word: UnsafeMutablePointer<UInt>, _ constant: @autoclosure () -> Object
) -> Unmanaged<Object> {
  .fromOpaque(
    cached(in: word, UnsafeRawPointer(Unmanaged.passUnretained(constant()).toOpaque())))
}

/// The address that `constant`, a `static let`, holds, which `word` caches from the first use on.
///
/// `word` is zero at first.
@inline(__always)
func cached(
  in word: UnsafeMutablePointer<UInt>, _ constant: @autoclosure () -> UnsafeRawPointer
) -> UnsafeRawPointer {
  let address = withAtomic(word) { $0.load(ordering: .acquiring) }
  if let pointer = UnsafeRawPointer(bitPattern: address) { return pointer }
  let pointer = constant()
  withAtomic(word) { $0.store(UInt(bitPattern: pointer), ordering: .releasing) }
  return pointer
}
