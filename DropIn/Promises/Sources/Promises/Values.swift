import Foundation
@_spi(DropIns) import Pledge

// Values that are errors, or nil, at run time.

/// Returns `value` as an error if a promise must be rejected with it instead of fulfilled.
///
/// This is the case for an `NSError`, and for any error that is bridged to an `NSError` or boxed
/// when it's converted to an object. Classes, and types that are bridged to another class, such as
/// `String`, are values even if they conform to `Error`.
@inlinable
func rejection<Value>(hiddenIn value: Value) -> (any Error)? {
  if ValueTypes.isKnown(Value.self) { return nil }
  guard let error = error(hiddenIn: value) else {
    ValueTypes.noteNoError(value)
    return nil
  }
  return error
}

@usableFromInline
func error<Value>(hiddenIn value: Value) -> (any Error)? {
  // Casting a generic value directly to `NSError` isn't reliable on platforms other than Apple's.
  guard let error = value as? any Error else { return nil }
  let type: any Any.Type = Swift.type(of: error)
  if type is AnyClass { return type is NSError.Type ? error : nil }
  if let type = type as? any _ObjectiveCBridgeable.Type { return becomesError(type) ? error : nil }
  return error
}

private func becomesError<T: _ObjectiveCBridgeable>(_ type: T.Type) -> Bool {
  T._ObjectiveCType.self is NSError.Type
}

/// A cache of types whose values are known not to be errors.
///
/// Checking whether a value is an error takes a few hundred instructions, and each fulfillment
/// checks. The result is the same for all values of a structure or enumeration, so it's cached, for
/// a few types at indices given by a hash of their addresses.
@usableFromInline
enum ValueTypes {
  /// The cache, with the address of one type's metadata at each index.
  ///
  /// `nonisolated(unsafe)`: the pointer is immutable, and its memory is atomic.
  private nonisolated(unsafe) static let known: UnsafePointer<Atomic<UInt>> = {
    let places = UnsafeMutablePointer<Atomic<UInt>>.allocate(capacity: 64)
    for index in 0..<64 { (places + index).initialize(to: Atomic(0)) }
    return UnsafePointer(places)
  }()

  private static func place(of address: UInt) -> Int { Int((address >> 4 ^ address >> 10) & 63) }

  @inlinable
  static func isKnown<Value>(_ type: Value.Type) -> Bool {
    isKnown(at: UInt(bitPattern: unsafeBitCast(type as Any.Type, to: UnsafeRawPointer.self)))
  }

  @usableFromInline
  static func isKnown(at address: UInt) -> Bool {
    known[place(of: address)].load(ordering: .relaxed) == address
  }

  /// Records that `value` isn't an error, if that is true for all values of its type.
  @usableFromInline
  static func noteNoError<Value>(_ value: Value) {
    // Not if the result depends on the value: `Any` and other protocols, optionals, classes,
    // `AnyHashable`.
    guard Swift.type(of: value as Any) == Value.self, !(value is any AnyOptional),
      !(Value.self is AnyClass), Value.self != AnyHashable.self, !(Value.self is any Error.Type)
    else { return }
    let address = UInt(bitPattern: unsafeBitCast(Value.self as Any.Type, to: UnsafeRawPointer.self))
    known[place(of: address)].store(address, ordering: .relaxed)
  }
}

@usableFromInline
protocol AnyOptional {
  var isNil: Bool { get }
}

extension Optional: AnyOptional {
  @usableFromInline var isNil: Bool { self == nil }
}

/// Returns whether `value` is nil.
func isNil<Value>(_ value: Value) -> Bool { (value as? any AnyOptional)?.isNil ?? false }

/// Returns the value as a handler receives it: if the type is `Any?`, nil is replaced by `NSNull`.
@inlinable
func delivered<Value>(_ value: Value) -> Value {
  Value.self == Any?.self ? nullForNil(value) : value
}

@usableFromInline
func nullForNil<Value>(_ value: Value) -> Value {
  guard isNil(value) else { return value }
  let null: Any? = NSNull()
  return null as? Value ?? value
}
