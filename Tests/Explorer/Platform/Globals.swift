public import VirtualPlatform

/// Calls `body` with a global variable, which is initially zero, as an atomic one.
@inlinable
func withAtomic<Result>(
  _ word: UnsafeMutablePointer<UInt64>, _ body: (borrowing Atomic<UInt64>) -> Result
) -> Result { withGlobalAtomic(word, body) }

/// Returns the object in `constant`, a `static let`; caching it has no benefit here.
func cached<Object: AnyObject>(
  in word: UnsafeMutablePointer<UInt64>, _ constant: @autoclosure () -> Object
) -> Unmanaged<Object> { .passUnretained(constant()) }

/// Returns the address in `constant`, a `static let`.
func cached(
  in word: UnsafeMutablePointer<UInt64>, _ constant: @autoclosure () -> UnsafeRawPointer
) -> UnsafeRawPointer { constant() }
