import Foundation
import Pledge

// What a value may turn out to be at run time.

/// The error that `value` is, if a promise must not be fulfilled with it.
///
/// That is any value that is an `NSError`, or that becomes one, or a box around the error, when it
/// is taken as an object. Types that become something else, as a `String` does, and classes are
/// values even where the program makes them conform to `Error`.
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
  // A cast of a generic value straight to `NSError` is not to be relied on away from Apple systems.
  guard let error = value as? any Error else { return nil }
  let type: any Any.Type = Swift.type(of: error)
  if type is AnyClass { return type is NSError.Type ? error : nil }
  if let type = type as? any _ObjectiveCBridgeable.Type {
    return becomesError(type) ? error : nil
  }
  return error
}

private func becomesError<T: _ObjectiveCBridgeable>(_ type: T.Type) -> Bool {
  T._ObjectiveCType.self is NSError.Type
}

/// The types of values that are known not to hide an error.
///
/// Asking a value whether it is an error takes the run time a few hundred instructions, and every
/// fulfillment asks. The answer is the same for all values of one structure or enumeration, so it is
/// kept, for a few types that share the places by the hash of their addresses.
@usableFromInline
enum ValueTypes {
  /// One type a place, as the address of its metadata.
  ///
  /// `nonisolated(unsafe)`: immutable, and what it points to is atomic.
  @usableFromInline nonisolated(unsafe) static let known: UnsafePointer<KnownType> = {
    let places = UnsafeMutablePointer<KnownType>.allocate(capacity: 64)
    for index in 0..<64 { (places + index).initialize(to: KnownType()) }
    return UnsafePointer(places)
  }()

  @usableFromInline
  struct KnownType: ~Copyable {
    @usableFromInline let address = _Atomic<UInt>(0)
    @inlinable init() {}
  }

  @inlinable
  static func place(of address: UInt) -> Int { Int((address >> 4 ^ address >> 10) & 63) }

  @inlinable
  static func isKnown<Value>(_ type: Value.Type) -> Bool {
    let address = UInt(bitPattern: unsafeBitCast(type as Any.Type, to: UnsafeRawPointer.self))
    return known[place(of: address)].address.load(ordering: .relaxed) == address
  }

  /// Notes that `value` hides no error, if that is true for all values of its type.
  @usableFromInline
  static func noteNoError<Value>(_ value: Value) {
    // Not where the value decides: `Any` and other protocols, optionals, classes, `AnyHashable`.
    guard Swift.type(of: value as Any) == Value.self, !(value is any AnyOptional),
      !(Value.self is AnyClass), Value.self != AnyHashable.self, !(Value.self is any Error.Type)
    else { return }
    let address = UInt(bitPattern: unsafeBitCast(Value.self as Any.Type, to: UnsafeRawPointer.self))
    known[place(of: address)].address.store(address, ordering: .relaxed)
  }
}

@usableFromInline
protocol AnyOptional {
  var isNil: Bool { get }
}

extension Optional: AnyOptional {
  @usableFromInline var isNil: Bool { self == nil }
}

/// Whether `value` is a nil.
func isNil<Value>(_ value: Value) -> Bool {
  (value as? any AnyOptional)?.isNil ?? false
}

/// The value as a handler gets it: where anything is allowed, nil comes as `NSNull`.
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
