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
      switch ordering {
      case .relaxed: real.load(ordering: .relaxed)
      case .acquiring: real.load(ordering: .acquiring)
      case .sequentiallyConsistent: real.load(ordering: .sequentiallyConsistent)
      }
    guard Explorer.hasStaleLoads else { return Value(explorerBits: latest) }
    return Value(
      explorerBits: Memory.load(
        identity, latest: latest, acquires: ordering != .relaxed,
        isSequential: ordering == .sequentiallyConsistent))
  }

  public func store(_ desired: consuming Value, ordering: AtomicStoreOrdering) {
    Explorer.willStore(identity)
    let bits = desired.explorerBits
    let old = real.load(ordering: .relaxed)
    switch ordering {
    case .relaxed: real.store(bits, ordering: .relaxed)
    case .releasing: real.store(bits, ordering: .releasing)
    case .sequentiallyConsistent: real.store(bits, ordering: .sequentiallyConsistent)
    }
    note(old, bits, releases: ordering != .relaxed)
  }

  public func exchange(_ desired: consuming Value, ordering: AtomicUpdateOrdering) -> Value {
    let bits = desired.explorerBits
    return Value(explorerBits: update(ordering) { (_: UInt64) in bits })
  }

  public func compareExchange(
    expected: consuming Value, desired: consuming Value, ordering: AtomicUpdateOrdering
  ) -> (exchanged: Bool, original: Value) {
    Explorer.willUpdate(identity)
    let new = desired.explorerBits
    let (exchanged, original) = swap(expected.explorerBits, new, ordering)
    if exchanged { note(original, new, ordering) }
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
    note(old, new, releases: ordering.releases, acquires: ordering.acquires, isUpdate: true)
  }

  private func note(
    _ old: UInt64, _ new: UInt64, releases: Bool, acquires: Bool = false, isUpdate: Bool = false
  ) {
    if Explorer.hasStaleLoads {
      Memory.store(
        identity, old: old, value: new, releases: releases, acquires: acquires, isUpdate: isUpdate)
    }
    if old != new { Explorer.didWrite() }
  }

  private func swap(
    _ expected: UInt64, _ desired: UInt64, _ ordering: AtomicUpdateOrdering
  ) -> (exchanged: Bool, original: UInt64) {
    switch ordering {
    case .relaxed: real.compareExchange(expected: expected, desired: desired, ordering: .relaxed)
    case .acquiring:
      real.compareExchange(expected: expected, desired: desired, ordering: .acquiring)
    case .releasing:
      real.compareExchange(expected: expected, desired: desired, ordering: .releasing)
    case .acquiringAndReleasing:
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
    let old = update(ordering) { (bits: UInt64) in change(Value(explorerBits: bits)).explorerBits }
    return Value(explorerBits: old)
  }
}

public func atomicMemoryFence(ordering: AtomicUpdateOrdering) {
  Synchronization.atomicMemoryFence(ordering: .acquiringAndReleasing)
  if ordering.acquires { Memory.fence() }
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

public enum AtomicLoadOrdering: Sendable { case relaxed, acquiring, sequentiallyConsistent }

public enum AtomicStoreOrdering: Sendable { case relaxed, releasing, sequentiallyConsistent }

public enum AtomicUpdateOrdering: Sendable {
  case relaxed, acquiring, releasing, acquiringAndReleasing

  var acquires: Bool { self == .acquiring || self == .acquiringAndReleasing }
  var releases: Bool { self == .releasing || self == .acquiringAndReleasing }
}
