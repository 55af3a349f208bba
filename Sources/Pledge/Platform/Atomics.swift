// The documentation of a protocol's requirement applies to all implementations.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import Builtin

// All atomic operations of the library use these names. Every access to state that another thread
// can see or wait for, and every call to Dispatch or the C library, goes through this folder, so
// that a test build can replace it with its own scheduler, and a port changes only one folder.
//
// The types are the library's own because `Synchronization` needs macOS 15 and iOS 18. They have
// the same implementation. The storage is a type with a raw layout: its value is borrowed in place
// and never copied, so a property of that type in a class keeps its address as long as the object
// exists, and needs no allocation of its own. (A pointer to any other stored property is valid for
// one call only.) Raw layouts need no runtime support: the compiler lays out `Atomic<UInt64>`. The
// operations are the compiler's built-in ones. C functions would also work, but make the hot paths
// about 5% slower: because Swift can't know that a C function releases no object, it retains more
// of them.

@usableFromInline package typealias Atomic = _Atomic
@usableFromInline typealias AtomicWord = _Atomic<UInt64>
@usableFromInline typealias AtomicPointerBits = _Atomic<UInt>
@usableFromInline typealias AtomicCounter = _Atomic<Int>
@usableFromInline typealias AtomicFlag = _Atomic<Bool>

extension _Atomic where Value == UInt64 {
  /// Stores `value` to release a lock that is a bit of this word.
  ///
  /// LLVM moves a `swift_retain` down past stores, including atomic ones. A retain that is moved
  /// out of the critical section is too late: another thread can release and deallocate the object
  /// in between. LLVM doesn't move a retain past a fence, which is no instruction on x86.
  @inline(__always)
  borrowing func unlock(storing value: UInt64) {
    Builtin.fence_release()
    store(value, ordering: .releasing)
  }
}

/// A value that several threads can access atomically.
///
/// Don't use this type in your code: it can change in any version. It is public for the drop-in
/// modules, which are separate packages and run on systems without `Synchronization`.
///
/// `@unchecked Sendable`: only accessed atomically.
@frozen @_staticExclusiveOnly @_rawLayout(like: Value)
public struct _Atomic<Value: _AtomicValue>: ~Copyable, @unchecked Sendable {
  /// The address of the value.
  @usableFromInline @_transparent
  var address: UnsafeMutableRawPointer { UnsafeMutableRawPointer(Builtin.addressOfRawLayout(self)) }

  /// Creates an atomic value.
  @_transparent
  public init(_ initialValue: Value) {
    // A plain store: no other thread has the address yet.
    UnsafeMutablePointer<Value>(Builtin.addressOfRawLayout(self)).initialize(to: initialValue)
  }

  /// Returns the value.
  @_transparent
  public borrowing func load(ordering: _AtomicLoadOrdering) -> Value {
    Value(_word: Value._Word._atomicLoad(at: address, ordering))
  }

  /// Replaces the value.
  @_transparent
  public borrowing func store(_ desired: Value, ordering: _AtomicStoreOrdering) {
    Value._Word._atomicStore(desired._word, at: address, ordering)
  }

  /// Replaces the value and returns the old one.
  @_transparent
  public borrowing func exchange(_ desired: Value, ordering: _AtomicUpdateOrdering) -> Value {
    Value(_word: Value._Word._atomicExchange(desired._word, at: address, ordering))
  }

  /// Replaces the value if it is `expected`, and returns whether it was replaced and the original
  /// value.
  @_transparent
  public borrowing func compareExchange(
    expected: Value, desired: Value, ordering: _AtomicUpdateOrdering
  ) -> (exchanged: Bool, original: Value) {
    var word = expected._word
    let exchanged = Value._Word._atomicCompareExchange(
      &word, desired._word, at: address, ordering)
    return (exchanged, Value(_word: word))
  }

  /// Like `compareExchange`, but can fail spuriously.
  @_transparent
  public borrowing func weakCompareExchange(
    expected: Value, desired: Value, ordering: _AtomicUpdateOrdering
  ) -> (exchanged: Bool, original: Value) {
    var word = expected._word
    let exchanged = Value._Word._atomicWeakCompareExchange(
      &word, desired._word, at: address, ordering)
    return (exchanged, Value(_word: word))
  }
}

extension _Atomic where Value: FixedWidthInteger {
  /// Adds `operand`; traps on overflow, after the wrapped value was stored.
  @_transparent @discardableResult
  public borrowing func add(
    _ operand: Value, ordering: _AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {
    let old = wrappingAdd(operand, ordering: ordering).oldValue
    return (old, old + operand)
  }

  /// Subtracts `operand`; traps on overflow, after the wrapped value was stored.
  @_transparent @discardableResult
  public borrowing func subtract(
    _ operand: Value, ordering: _AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {
    let old = wrappingSubtract(operand, ordering: ordering).oldValue
    return (old, old - operand)
  }

  /// Adds `operand`, and wraps on overflow.
  @_transparent @discardableResult
  public borrowing func wrappingAdd(
    _ operand: Value, ordering: _AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {
    let old = Value(_word: Value._Word._atomicAdd(operand._word, at: address, ordering))
    return (old, old &+ operand)
  }

  /// Subtracts `operand`, and wraps on overflow.
  @_transparent @discardableResult
  public borrowing func wrappingSubtract(
    _ operand: Value, ordering: _AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {
    let old = Value(_word: Value._Word._atomicSubtract(operand._word, at: address, ordering))
    return (old, old &- operand)
  }

  /// Performs a bitwise AND with `operand`.
  @_transparent @discardableResult
  public borrowing func bitwiseAnd(
    _ operand: Value, ordering: _AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {
    let old = Value(_word: Value._Word._atomicAnd(operand._word, at: address, ordering))
    return (old, old & operand)
  }

  /// Performs a bitwise OR with `operand`.
  @_transparent @discardableResult
  public borrowing func bitwiseOr(
    _ operand: Value, ordering: _AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {
    let old = Value(_word: Value._Word._atomicOr(operand._word, at: address, ordering))
    return (old, old | operand)
  }
}

// MARK: - Orderings

/// The memory ordering of a load.
@frozen
public enum _AtomicLoadOrdering: Sendable { case relaxed, acquiring }

/// The memory ordering of a store.
@frozen
public enum _AtomicStoreOrdering: Sendable { case relaxed, releasing }

/// The memory ordering of an access that loads and stores.
@frozen
public enum _AtomicUpdateOrdering: Sendable {
  case relaxed, acquiring, releasing, acquiringAndReleasing
}

// MARK: - Values

/// A type whose values have the size of a word with atomic operations.
public protocol _AtomicValue: Sendable {
  /// The word.
  associatedtype _Word: _AtomicWord
  /// The value as a word.
  var _word: _Word { get }
  /// Creates a value from a word.
  init(_word: _Word)
}

extension _AtomicValue where Self: FixedWidthInteger, _Word: FixedWidthInteger {
  @_transparent public var _word: _Word { _Word(truncatingIfNeeded: self) }
  @_transparent public init(_word: _Word) { self.init(truncatingIfNeeded: _word) }
}

extension UInt8: _AtomicValue { public typealias _Word = UInt8 }
extension UInt32: _AtomicValue { public typealias _Word = UInt32 }
extension UInt64: _AtomicValue { public typealias _Word = UInt64 }

#if _pointerBitWidth(_64)
  extension Int: _AtomicValue { public typealias _Word = UInt64 }
  extension UInt: _AtomicValue { public typealias _Word = UInt64 }
#else
  extension Int: _AtomicValue { public typealias _Word = UInt32 }
  extension UInt: _AtomicValue { public typealias _Word = UInt32 }
#endif

extension Bool: _AtomicValue {
  @_transparent public var _word: UInt8 { self ? 1 : 0 }
  @_transparent public init(_word: UInt8) { self = _word != 0 }
}
