public import VirtualPlatform

/// Lets `body` use a global variable, which is zero at first, as an atomic one.
@inlinable
func withAtomic<Result>(
  _ word: UnsafeMutablePointer<UInt>, _ body: (borrowing Atomic<UInt>) -> Result
) -> Result { withGlobalAtomic(word, body) }

/// The object of `constant`, a `static let`: there is nothing to gain from caching it here.
func cached<Object: AnyObject>(
  in word: UnsafeMutablePointer<UInt>, _ constant: @autoclosure () -> Object
) -> Unmanaged<Object> { .passUnretained(constant()) }

/// The address that `constant`, a `static let`, holds.
func cached(
  in word: UnsafeMutablePointer<UInt>, _ constant: @autoclosure () -> UnsafeRawPointer
) -> UnsafeRawPointer { constant() }
