import Exploration
internal import Synchronization

/// A replacement for `Synchronization.Atomic`, each access to which is a step of the explorer.
///
/// The memory always contains the latest value, and each access uses the ordering that the caller
/// specifies, for ThreadSanitizer to check.
public struct Atomic<Value: AtomicRepresentable>: ~Copyable {
  private let real: Synchronization.Atomic<UInt64>
  /// Identifies the value for the scheduler, because another value can have the same address later.
  private let identity: UInt

  public init(_ initialValue: consuming Value) {
    real = Synchronization.Atomic(initialValue.explorerBits)
    identity = Explorer.makeIdentity()
  }

  /// Replaces the address of the object that contains this value, in comparisons of addresses.
  public var order: UInt { Explorer.reversesOrder ? ~identity : identity }

  public func load(ordering: AtomicLoadOrdering) -> Value {
    Explorer.willLoad(identity)
    let latest =
      switch ordering.strength {
      case 0: real.load(ordering: .relaxed)
      case 1: real.load(ordering: .acquiring)
      default: real.load(ordering: .sequentiallyConsistent)
      }
    guard Explorer.hasStaleLoads else { return Value(explorerBits: latest) }
    return Value(
      explorerBits: Explorer.loaded(
        identity, latest: latest, acquires: ordering.strength >= 1,
        isSequential: ordering.strength == 2))
  }

  public func store(_ desired: consuming Value, ordering: AtomicStoreOrdering) {
    Explorer.willStore(identity)
    let bits = desired.explorerBits
    let old = real.load(ordering: .relaxed)
    switch ordering.strength {
    case 0: real.store(bits, ordering: .relaxed)
    case 1: real.store(bits, ordering: .releasing)
    default: real.store(bits, ordering: .sequentiallyConsistent)
    }
    if Explorer.hasStaleLoads {
      Explorer.didStore(
        identity, old: old, value: bits, releases: ordering.strength >= 1, acquires: false,
        isUpdate: false)
    }
    if bits != old { Explorer.didWrite() }
  }

  public func exchange(_ desired: consuming Value, ordering: AtomicUpdateOrdering) -> Value {
    let bits = desired.explorerBits
    return Value(explorerBits: update(ordering) { (_: UInt64) in bits })
  }

  public func compareExchange(
    expected: consuming Value, desired: consuming Value, ordering: AtomicUpdateOrdering
  ) -> (exchanged: Bool, original: Value) {
    Explorer.willUpdate(identity)
    return exchangeNow(expected.explorerBits, desired.explorerBits, ordering)
  }

  private func exchangeNow(
    _ expected: UInt64, _ desired: UInt64, _ ordering: AtomicUpdateOrdering
  ) -> (exchanged: Bool, original: Value) {
    let (exchanged, original) = swap(expected, desired, ordering)
    if exchanged { note(original, desired, ordering) }
    return (exchanged, Value(explorerBits: original))
  }

  fileprivate func update(
    _ ordering: AtomicUpdateOrdering, _ change: (UInt64) -> UInt64
  ) -> UInt64 {
    Explorer.willUpdate(identity)
    var old = real.load(ordering: .relaxed)
    while true {
      let new = change(old)
      let (exchanged, now) = swap(old, new, ordering)
      if exchanged {
        note(old, new, ordering)
        return old
      }
      old = now
    }
  }

  private func note(_ old: UInt64, _ new: UInt64, _ ordering: AtomicUpdateOrdering) {
    if Explorer.hasStaleLoads {
      Explorer.didStore(
        identity, old: old, value: new, releases: ordering.releases, acquires: ordering.acquires,
        isUpdate: true)
    }
    if old != new { Explorer.didWrite() }
  }

  private func swap(
    _ expected: UInt64, _ desired: UInt64, _ ordering: AtomicUpdateOrdering
  ) -> (exchanged: Bool, original: UInt64) {
    switch (ordering.acquires, ordering.releases) {
    case (false, false):
      real.compareExchange(expected: expected, desired: desired, ordering: .relaxed)
    case (true, false):
      real.compareExchange(expected: expected, desired: desired, ordering: .acquiring)
    case (false, true):
      real.compareExchange(expected: expected, desired: desired, ordering: .releasing)
    case (true, true):
      real.compareExchange(expected: expected, desired: desired, ordering: .acquiringAndReleasing)
    }
  }
}

/// `@unchecked Sendable`: its only field is atomic.
extension Atomic: @unchecked Sendable {}

extension Atomic where Value: FixedWidthInteger {
  @discardableResult
  public func wrappingAdd(_ operand: Value, ordering: AtomicUpdateOrdering) -> Value {
    update(ordering) { $0 &+ operand }
  }

  @discardableResult
  public func wrappingSubtract(_ operand: Value, ordering: AtomicUpdateOrdering) -> Value {
    update(ordering) { $0 &- operand }
  }

  @discardableResult
  public func bitwiseOr(_ operand: Value, ordering: AtomicUpdateOrdering) -> Value {
    update(ordering) { $0 | operand }
  }

  private func update(_ ordering: AtomicUpdateOrdering, _ change: (Value) -> Value) -> Value {
    let old = update(ordering) { (bits: UInt64) in
      change(Value(explorerBits: bits)).explorerBits
    }
    return Value(explorerBits: old)
  }
}

public func atomicMemoryFence(ordering: AtomicUpdateOrdering) {
  Synchronization.atomicMemoryFence(ordering: .acquiringAndReleasing)
  if ordering.acquires { Explorer.fence() }
}

/// Calls `body` with the global variable at `word`, which is initially zero, as an atomic one.
public func withGlobalAtomic<Result>(
  _ word: UnsafeMutablePointer<UInt64>, _ body: (borrowing Atomic<UInt64>) -> Result
) -> Result {
  let object = Explorer.global(UnsafeRawPointer(word)) { GlobalWord() }
  return body(unsafeDowncast(object, to: GlobalWord.self).value)
}

private final class GlobalWord: Sendable { let value = Atomic<UInt64>(0) }

// MARK: - Values

public protocol AtomicRepresentable {
  var explorerBits: UInt64 { get }
  init(explorerBits: UInt64)
}

extension AtomicRepresentable where Self: FixedWidthInteger {
  public var explorerBits: UInt64 { UInt64(truncatingIfNeeded: self) }
  public init(explorerBits bits: UInt64) { self.init(truncatingIfNeeded: bits) }
}

extension AtomicRepresentable where Self: RawRepresentable, RawValue: AtomicRepresentable {
  public var explorerBits: UInt64 { rawValue.explorerBits }
  public init(explorerBits bits: UInt64) {
    guard let value = Self(rawValue: RawValue(explorerBits: bits)) else {
      fatalError("an atomic value that is none: \(bits)")
    }
    self = value
  }
}

extension Int: AtomicRepresentable {}
extension UInt64: AtomicRepresentable {}
extension Bool: AtomicRepresentable {
  public var explorerBits: UInt64 { self ? 1 : 0 }
  public init(explorerBits bits: UInt64) { self = bits != 0 }
}

// MARK: - Orderings

public struct AtomicLoadOrdering: Sendable {
  let strength: UInt8
  public static var relaxed: Self { Self(strength: 0) }
  public static var acquiring: Self { Self(strength: 1) }
  public static var sequentiallyConsistent: Self { Self(strength: 2) }
}

public struct AtomicStoreOrdering: Sendable {
  let strength: UInt8
  public static var relaxed: Self { Self(strength: 0) }
  public static var releasing: Self { Self(strength: 1) }
  public static var sequentiallyConsistent: Self { Self(strength: 2) }
}

public struct AtomicUpdateOrdering: Sendable {
  let acquires: Bool
  let releases: Bool
  public static var relaxed: Self { Self(acquires: false, releases: false) }
  public static var acquiring: Self { Self(acquires: true, releases: false) }
  public static var releasing: Self { Self(acquires: false, releases: true) }
  public static var acquiringAndReleasing: Self { Self(acquires: true, releases: true) }
}
