import Builtin

/// Storage for the value of a promise, in an object that knows whether it has one.
///
/// The compiler doesn't specialize `deinit`, so that of a plain property calls the functions of its
/// type, even if they do nothing.
@frozen @usableFromInline @_rawLayout(like: Value)
struct ValueStorage<Value>: ~Copyable {
  @usableFromInline @_transparent
  init() {}

  @usableFromInline @_transparent
  func initialize(to value: consuming Value) {
    Builtin.initialize(value, Builtin.addressOfRawLayout(self))
  }

  @usableFromInline @_transparent
  var value: Value {
    unsafeAddress { UnsafePointer(Builtin.addressOfRawLayout(self)) }
  }

  /// Releases the value, if there is one; first tests whether its type needs that.
  @usableFromInline @_transparent
  func deinitialize(if isInitialized: @autoclosure () -> Bool) {
    if !_isPOD(Value.self), isInitialized() {
      Builtin.destroy(Value.self, Builtin.addressOfRawLayout(self))
    }
  }
}
