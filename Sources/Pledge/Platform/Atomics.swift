// The documentation of a protocol's requirement applies to all implementations.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import Builtin

// All atomic operations of the library. Every access to state that another thread can see or wait
// for, and every call to Dispatch or the C library, goes through this folder, so that a test build
// can replace it with its own scheduler, and a port changes only one folder.
//
// The type is the library's own because that of `Synchronization` needs macOS 15 and iOS 18. It has
// the same implementation. The storage is a type with a raw layout: its value is borrowed in place
// and never copied, so a property of that type in a class keeps its address as long as the object
// exists, and needs no allocation of its own. (A pointer to any other stored property is valid for
// one call only.) The operations are the compiler's built-in ones. C functions would also work, but
// make the hot paths about 5% slower: because Swift can't know that a C function releases no object,
// it retains more of them.
//
// Every value is stored as a word of 64 bits, and there are only the operations and orderings that
// the library uses.

typealias AtomicWord = Atomic<UInt64>
typealias AtomicCounter = Atomic<Int>
typealias AtomicFlag = Atomic<Bool>

/// A value that several threads can access atomically.
///
/// It is visible to the drop-in modules, which are separate packages and run on systems without
/// `Synchronization`.
///
/// `@unchecked Sendable`: only accessed atomically.
@_spi(DropIns) @frozen @_staticExclusiveOnly @_rawLayout(like: UInt64)
public struct Atomic<Value: AtomicValue>: ~Copyable, @unchecked Sendable {
  @usableFromInline @_transparent
  var address: Builtin.RawPointer { Builtin.addressOfRawLayout(self) }

  /// Creates an atomic value.
  @_transparent
  public init(_ initialValue: Value) {
    // A plain store: no other thread has the address yet.
    UnsafeMutablePointer<UInt64>(address).initialize(to: initialValue.word)
  }

  /// Returns the value.
  @_transparent
  public borrowing func load(ordering: AtomicLoadOrdering) -> Value {
    // The ordering is a constant at each call, so that the optimizer removes the `switch`.
    switch ordering {
    case .relaxed: Value(word: UInt64(Builtin.atomicload_monotonic_Int64(address)))
    case .acquiring: Value(word: UInt64(Builtin.atomicload_acquire_Int64(address)))
    }
  }

  /// Replaces the value.
  @_transparent
  public borrowing func store(_ desired: Value, ordering: AtomicStoreOrdering) {
    switch ordering {
    case .relaxed: Builtin.atomicstore_monotonic_Int64(address, desired.word._value)
    case .releasing: Builtin.atomicstore_release_Int64(address, desired.word._value)
    }
  }

  /// Replaces the value and returns the old one.
  @_transparent
  public borrowing func exchange(_ desired: Value, ordering: AtomicUpdateOrdering) -> Value {
    let new = desired.word._value
    return switch ordering {
    case .relaxed: Value(word: UInt64(Builtin.atomicrmw_xchg_monotonic_Int64(address, new)))
    case .acquiring: Value(word: UInt64(Builtin.atomicrmw_xchg_acquire_Int64(address, new)))
    case .acquiringAndReleasing:
      Value(word: UInt64(Builtin.atomicrmw_xchg_acqrel_Int64(address, new)))
    }
  }

  /// Replaces the value if it is `expected`, and returns whether it was replaced and the original
  /// value.
  ///
  /// If it fails, the operation is only a load, with the ordering of a load.
  @_transparent
  public borrowing func compareExchange(
    expected: Value, desired: Value, ordering: AtomicUpdateOrdering
  ) -> (exchanged: Bool, original: Value) {
    let (old, new) = (expected.word._value, desired.word._value)
    let (original, exchanged) =
      switch ordering {
      case .relaxed: Builtin.cmpxchg_monotonic_monotonic_Int64(address, old, new)
      case .acquiring: Builtin.cmpxchg_acquire_acquire_Int64(address, old, new)
      case .acquiringAndReleasing: Builtin.cmpxchg_acqrel_acquire_Int64(address, old, new)
      }
    return (Bool(exchanged), Value(word: UInt64(original)))
  }
}

@_spi(DropIns) extension Atomic where Value: FixedWidthInteger {
  /// Adds `operand`, wraps on overflow, and returns the old value.
  @_transparent @discardableResult
  public borrowing func wrappingAdd(_ operand: Value, ordering: AtomicUpdateOrdering) -> Value {
    let word = operand.word._value
    return switch ordering {
    case .relaxed: Value(word: UInt64(Builtin.atomicrmw_add_monotonic_Int64(address, word)))
    case .acquiring: Value(word: UInt64(Builtin.atomicrmw_add_acquire_Int64(address, word)))
    case .acquiringAndReleasing:
      Value(word: UInt64(Builtin.atomicrmw_add_acqrel_Int64(address, word)))
    }
  }

  /// Subtracts `operand`, wraps on overflow, and returns the old value.
  @_transparent @discardableResult
  public borrowing func wrappingSubtract(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> Value { wrappingAdd(0 &- operand, ordering: ordering) }

  /// Performs a bitwise OR with `operand` and returns the old value.
  @_transparent @discardableResult
  public borrowing func bitwiseOr(_ operand: Value, ordering: AtomicUpdateOrdering) -> Value {
    let word = operand.word._value
    return switch ordering {
    case .relaxed: Value(word: UInt64(Builtin.atomicrmw_or_monotonic_Int64(address, word)))
    case .acquiring: Value(word: UInt64(Builtin.atomicrmw_or_acquire_Int64(address, word)))
    case .acquiringAndReleasing:
      Value(word: UInt64(Builtin.atomicrmw_or_acqrel_Int64(address, word)))
    }
  }
}

extension Atomic where Value == UInt64 {
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

// MARK: - Orderings

/// The memory ordering of a load.
@_spi(DropIns) @frozen
public enum AtomicLoadOrdering: Sendable { case relaxed, acquiring }

/// The memory ordering of a store.
@_spi(DropIns) @frozen
public enum AtomicStoreOrdering: Sendable { case relaxed, releasing }

/// The memory ordering of an access that loads and stores.
@_spi(DropIns) @frozen
public enum AtomicUpdateOrdering: Sendable { case relaxed, acquiring, acquiringAndReleasing }

// MARK: - Values

/// A type whose values can be stored in a word.
@_spi(DropIns)
public protocol AtomicValue: Sendable {
  /// The value as a word.
  var word: UInt64 { get }
  /// Creates a value from a word.
  init(word: UInt64)
}

@_spi(DropIns) extension AtomicValue where Self: FixedWidthInteger {
  @_transparent public var word: UInt64 { UInt64(truncatingIfNeeded: self) }
  @_transparent public init(word: UInt64) { self.init(truncatingIfNeeded: word) }
}

@_spi(DropIns) extension Int: AtomicValue {}
@_spi(DropIns) extension UInt: AtomicValue {}
@_spi(DropIns) extension UInt64: AtomicValue {}

@_spi(DropIns) extension Bool: AtomicValue {
  @_transparent public var word: UInt64 { self ? 1 : 0 }
  @_transparent public init(word: UInt64) { self = word != 0 }
}
