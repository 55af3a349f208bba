// The documentation of a protocol's requirement applies to all implementations.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import Builtin

// The compiler's atomic operations, by word size. The ordering is a constant at each call, so the
// optimizer removes the `switch`.

/// A word that has atomic operations.
public protocol _AtomicWord: Sendable {
  static func _atomicLoad(
    at address: UnsafeMutableRawPointer, _ ordering: _AtomicLoadOrdering
  ) -> Self
  static func _atomicStore(
    _ value: Self, at address: UnsafeMutableRawPointer, _ ordering: _AtomicStoreOrdering
  )
  static func _atomicExchange(
    _ value: Self, at address: UnsafeMutableRawPointer, _ ordering: _AtomicUpdateOrdering
  ) -> Self
  /// Stores the original value in `expected`. If the exchange fails, the operation is only a load,
  /// with the ordering of a load.
  static func _atomicCompareExchange(
    _ expected: inout Self, _ desired: Self, at address: UnsafeMutableRawPointer,
    _ ordering: _AtomicUpdateOrdering
  ) -> Bool
  static func _atomicWeakCompareExchange(
    _ expected: inout Self, _ desired: Self, at address: UnsafeMutableRawPointer,
    _ ordering: _AtomicUpdateOrdering
  ) -> Bool
  static func _atomicAdd(
    _ operand: Self, at address: UnsafeMutableRawPointer, _ ordering: _AtomicUpdateOrdering
  ) -> Self
  static func _atomicSubtract(
    _ operand: Self, at address: UnsafeMutableRawPointer, _ ordering: _AtomicUpdateOrdering
  ) -> Self
  static func _atomicAnd(
    _ operand: Self, at address: UnsafeMutableRawPointer, _ ordering: _AtomicUpdateOrdering
  ) -> Self
  static func _atomicOr(
    _ operand: Self, at address: UnsafeMutableRawPointer, _ ordering: _AtomicUpdateOrdering
  ) -> Self
}

extension UInt8: _AtomicWord {
  @_transparent
  public static func _atomicLoad(
    at address: UnsafeMutableRawPointer, _ ordering: _AtomicLoadOrdering
  ) -> Self {
    let word = address._rawValue
    return switch ordering {
    case .relaxed: Self(Builtin.atomicload_monotonic_Int8(word))
    case .acquiring: Self(Builtin.atomicload_acquire_Int8(word))
    }
  }

  @_transparent
  public static func _atomicStore(
    _ value: Self, at address: UnsafeMutableRawPointer, _ ordering: _AtomicStoreOrdering
  ) {
    let word = address._rawValue
    switch ordering {
    case .relaxed: Builtin.atomicstore_monotonic_Int8(word, value._value)
    case .releasing: Builtin.atomicstore_release_Int8(word, value._value)
    }
  }

  @_transparent
  public static func _atomicExchange(
    _ value: Self, at address: UnsafeMutableRawPointer, _ ordering: _AtomicUpdateOrdering
  ) -> Self {
    let word = address._rawValue
    return switch ordering {
    case .relaxed: Self(Builtin.atomicrmw_xchg_monotonic_Int8(word, value._value))
    case .acquiring: Self(Builtin.atomicrmw_xchg_acquire_Int8(word, value._value))
    case .releasing: Self(Builtin.atomicrmw_xchg_release_Int8(word, value._value))
    case .acquiringAndReleasing: Self(Builtin.atomicrmw_xchg_acqrel_Int8(word, value._value))
    }
  }

  @_transparent
  public static func _atomicAdd(
    _ operand: Self, at address: UnsafeMutableRawPointer, _ ordering: _AtomicUpdateOrdering
  ) -> Self {
    let word = address._rawValue
    return switch ordering {
    case .relaxed: Self(Builtin.atomicrmw_add_monotonic_Int8(word, operand._value))
    case .acquiring: Self(Builtin.atomicrmw_add_acquire_Int8(word, operand._value))
    case .releasing: Self(Builtin.atomicrmw_add_release_Int8(word, operand._value))
    case .acquiringAndReleasing: Self(Builtin.atomicrmw_add_acqrel_Int8(word, operand._value))
    }
  }

  @_transparent
  public static func _atomicSubtract(
    _ operand: Self, at address: UnsafeMutableRawPointer, _ ordering: _AtomicUpdateOrdering
  ) -> Self {
    let word = address._rawValue
    return switch ordering {
    case .relaxed: Self(Builtin.atomicrmw_sub_monotonic_Int8(word, operand._value))
    case .acquiring: Self(Builtin.atomicrmw_sub_acquire_Int8(word, operand._value))
    case .releasing: Self(Builtin.atomicrmw_sub_release_Int8(word, operand._value))
    case .acquiringAndReleasing: Self(Builtin.atomicrmw_sub_acqrel_Int8(word, operand._value))
    }
  }

  @_transparent
  public static func _atomicAnd(
    _ operand: Self, at address: UnsafeMutableRawPointer, _ ordering: _AtomicUpdateOrdering
  ) -> Self {
    let word = address._rawValue
    return switch ordering {
    case .relaxed: Self(Builtin.atomicrmw_and_monotonic_Int8(word, operand._value))
    case .acquiring: Self(Builtin.atomicrmw_and_acquire_Int8(word, operand._value))
    case .releasing: Self(Builtin.atomicrmw_and_release_Int8(word, operand._value))
    case .acquiringAndReleasing: Self(Builtin.atomicrmw_and_acqrel_Int8(word, operand._value))
    }
  }

  @_transparent
  public static func _atomicOr(
    _ operand: Self, at address: UnsafeMutableRawPointer, _ ordering: _AtomicUpdateOrdering
  ) -> Self {
    let word = address._rawValue
    return switch ordering {
    case .relaxed: Self(Builtin.atomicrmw_or_monotonic_Int8(word, operand._value))
    case .acquiring: Self(Builtin.atomicrmw_or_acquire_Int8(word, operand._value))
    case .releasing: Self(Builtin.atomicrmw_or_release_Int8(word, operand._value))
    case .acquiringAndReleasing: Self(Builtin.atomicrmw_or_acqrel_Int8(word, operand._value))
    }
  }

  @_transparent
  public static func _atomicCompareExchange(
    _ expected: inout Self, _ desired: Self, at address: UnsafeMutableRawPointer,
    _ ordering: _AtomicUpdateOrdering
  ) -> Bool {
    let word = address._rawValue
    let (old, exchanged) =
      switch ordering {
      case .relaxed:
        Builtin.cmpxchg_monotonic_monotonic_Int8(word, expected._value, desired._value)
      case .acquiring:
        Builtin.cmpxchg_acquire_acquire_Int8(word, expected._value, desired._value)
      case .releasing:
        Builtin.cmpxchg_release_monotonic_Int8(word, expected._value, desired._value)
      case .acquiringAndReleasing:
        Builtin.cmpxchg_acqrel_acquire_Int8(word, expected._value, desired._value)
      }
    expected = Self(old)
    return Bool(exchanged)
  }

  @_transparent
  public static func _atomicWeakCompareExchange(
    _ expected: inout Self, _ desired: Self, at address: UnsafeMutableRawPointer,
    _ ordering: _AtomicUpdateOrdering
  ) -> Bool {
    let word = address._rawValue
    let (old, exchanged) =
      switch ordering {
      case .relaxed:
        Builtin.cmpxchg_monotonic_monotonic_weak_Int8(word, expected._value, desired._value)
      case .acquiring:
        Builtin.cmpxchg_acquire_acquire_weak_Int8(word, expected._value, desired._value)
      case .releasing:
        Builtin.cmpxchg_release_monotonic_weak_Int8(word, expected._value, desired._value)
      case .acquiringAndReleasing:
        Builtin.cmpxchg_acqrel_acquire_weak_Int8(word, expected._value, desired._value)
      }
    expected = Self(old)
    return Bool(exchanged)
  }
}

extension UInt32: _AtomicWord {
  @_transparent
  public static func _atomicLoad(
    at address: UnsafeMutableRawPointer, _ ordering: _AtomicLoadOrdering
  ) -> Self {
    let word = address._rawValue
    return switch ordering {
    case .relaxed: Self(Builtin.atomicload_monotonic_Int32(word))
    case .acquiring: Self(Builtin.atomicload_acquire_Int32(word))
    }
  }

  @_transparent
  public static func _atomicStore(
    _ value: Self, at address: UnsafeMutableRawPointer, _ ordering: _AtomicStoreOrdering
  ) {
    let word = address._rawValue
    switch ordering {
    case .relaxed: Builtin.atomicstore_monotonic_Int32(word, value._value)
    case .releasing: Builtin.atomicstore_release_Int32(word, value._value)
    }
  }

  @_transparent
  public static func _atomicExchange(
    _ value: Self, at address: UnsafeMutableRawPointer, _ ordering: _AtomicUpdateOrdering
  ) -> Self {
    let word = address._rawValue
    return switch ordering {
    case .relaxed: Self(Builtin.atomicrmw_xchg_monotonic_Int32(word, value._value))
    case .acquiring: Self(Builtin.atomicrmw_xchg_acquire_Int32(word, value._value))
    case .releasing: Self(Builtin.atomicrmw_xchg_release_Int32(word, value._value))
    case .acquiringAndReleasing: Self(Builtin.atomicrmw_xchg_acqrel_Int32(word, value._value))
    }
  }

  @_transparent
  public static func _atomicAdd(
    _ operand: Self, at address: UnsafeMutableRawPointer, _ ordering: _AtomicUpdateOrdering
  ) -> Self {
    let word = address._rawValue
    return switch ordering {
    case .relaxed: Self(Builtin.atomicrmw_add_monotonic_Int32(word, operand._value))
    case .acquiring: Self(Builtin.atomicrmw_add_acquire_Int32(word, operand._value))
    case .releasing: Self(Builtin.atomicrmw_add_release_Int32(word, operand._value))
    case .acquiringAndReleasing: Self(Builtin.atomicrmw_add_acqrel_Int32(word, operand._value))
    }
  }

  @_transparent
  public static func _atomicSubtract(
    _ operand: Self, at address: UnsafeMutableRawPointer, _ ordering: _AtomicUpdateOrdering
  ) -> Self {
    let word = address._rawValue
    return switch ordering {
    case .relaxed: Self(Builtin.atomicrmw_sub_monotonic_Int32(word, operand._value))
    case .acquiring: Self(Builtin.atomicrmw_sub_acquire_Int32(word, operand._value))
    case .releasing: Self(Builtin.atomicrmw_sub_release_Int32(word, operand._value))
    case .acquiringAndReleasing: Self(Builtin.atomicrmw_sub_acqrel_Int32(word, operand._value))
    }
  }

  @_transparent
  public static func _atomicAnd(
    _ operand: Self, at address: UnsafeMutableRawPointer, _ ordering: _AtomicUpdateOrdering
  ) -> Self {
    let word = address._rawValue
    return switch ordering {
    case .relaxed: Self(Builtin.atomicrmw_and_monotonic_Int32(word, operand._value))
    case .acquiring: Self(Builtin.atomicrmw_and_acquire_Int32(word, operand._value))
    case .releasing: Self(Builtin.atomicrmw_and_release_Int32(word, operand._value))
    case .acquiringAndReleasing: Self(Builtin.atomicrmw_and_acqrel_Int32(word, operand._value))
    }
  }

  @_transparent
  public static func _atomicOr(
    _ operand: Self, at address: UnsafeMutableRawPointer, _ ordering: _AtomicUpdateOrdering
  ) -> Self {
    let word = address._rawValue
    return switch ordering {
    case .relaxed: Self(Builtin.atomicrmw_or_monotonic_Int32(word, operand._value))
    case .acquiring: Self(Builtin.atomicrmw_or_acquire_Int32(word, operand._value))
    case .releasing: Self(Builtin.atomicrmw_or_release_Int32(word, operand._value))
    case .acquiringAndReleasing: Self(Builtin.atomicrmw_or_acqrel_Int32(word, operand._value))
    }
  }

  @_transparent
  public static func _atomicCompareExchange(
    _ expected: inout Self, _ desired: Self, at address: UnsafeMutableRawPointer,
    _ ordering: _AtomicUpdateOrdering
  ) -> Bool {
    let word = address._rawValue
    let (old, exchanged) =
      switch ordering {
      case .relaxed:
        Builtin.cmpxchg_monotonic_monotonic_Int32(word, expected._value, desired._value)
      case .acquiring:
        Builtin.cmpxchg_acquire_acquire_Int32(word, expected._value, desired._value)
      case .releasing:
        Builtin.cmpxchg_release_monotonic_Int32(word, expected._value, desired._value)
      case .acquiringAndReleasing:
        Builtin.cmpxchg_acqrel_acquire_Int32(word, expected._value, desired._value)
      }
    expected = Self(old)
    return Bool(exchanged)
  }

  @_transparent
  public static func _atomicWeakCompareExchange(
    _ expected: inout Self, _ desired: Self, at address: UnsafeMutableRawPointer,
    _ ordering: _AtomicUpdateOrdering
  ) -> Bool {
    let word = address._rawValue
    let (old, exchanged) =
      switch ordering {
      case .relaxed:
        Builtin.cmpxchg_monotonic_monotonic_weak_Int32(word, expected._value, desired._value)
      case .acquiring:
        Builtin.cmpxchg_acquire_acquire_weak_Int32(word, expected._value, desired._value)
      case .releasing:
        Builtin.cmpxchg_release_monotonic_weak_Int32(word, expected._value, desired._value)
      case .acquiringAndReleasing:
        Builtin.cmpxchg_acqrel_acquire_weak_Int32(word, expected._value, desired._value)
      }
    expected = Self(old)
    return Bool(exchanged)
  }
}

extension UInt64: _AtomicWord {
  @_transparent
  public static func _atomicLoad(
    at address: UnsafeMutableRawPointer, _ ordering: _AtomicLoadOrdering
  ) -> Self {
    let word = address._rawValue
    return switch ordering {
    case .relaxed: Self(Builtin.atomicload_monotonic_Int64(word))
    case .acquiring: Self(Builtin.atomicload_acquire_Int64(word))
    }
  }

  @_transparent
  public static func _atomicStore(
    _ value: Self, at address: UnsafeMutableRawPointer, _ ordering: _AtomicStoreOrdering
  ) {
    let word = address._rawValue
    switch ordering {
    case .relaxed: Builtin.atomicstore_monotonic_Int64(word, value._value)
    case .releasing: Builtin.atomicstore_release_Int64(word, value._value)
    }
  }

  @_transparent
  public static func _atomicExchange(
    _ value: Self, at address: UnsafeMutableRawPointer, _ ordering: _AtomicUpdateOrdering
  ) -> Self {
    let word = address._rawValue
    return switch ordering {
    case .relaxed: Self(Builtin.atomicrmw_xchg_monotonic_Int64(word, value._value))
    case .acquiring: Self(Builtin.atomicrmw_xchg_acquire_Int64(word, value._value))
    case .releasing: Self(Builtin.atomicrmw_xchg_release_Int64(word, value._value))
    case .acquiringAndReleasing: Self(Builtin.atomicrmw_xchg_acqrel_Int64(word, value._value))
    }
  }

  @_transparent
  public static func _atomicAdd(
    _ operand: Self, at address: UnsafeMutableRawPointer, _ ordering: _AtomicUpdateOrdering
  ) -> Self {
    let word = address._rawValue
    return switch ordering {
    case .relaxed: Self(Builtin.atomicrmw_add_monotonic_Int64(word, operand._value))
    case .acquiring: Self(Builtin.atomicrmw_add_acquire_Int64(word, operand._value))
    case .releasing: Self(Builtin.atomicrmw_add_release_Int64(word, operand._value))
    case .acquiringAndReleasing: Self(Builtin.atomicrmw_add_acqrel_Int64(word, operand._value))
    }
  }

  @_transparent
  public static func _atomicSubtract(
    _ operand: Self, at address: UnsafeMutableRawPointer, _ ordering: _AtomicUpdateOrdering
  ) -> Self {
    let word = address._rawValue
    return switch ordering {
    case .relaxed: Self(Builtin.atomicrmw_sub_monotonic_Int64(word, operand._value))
    case .acquiring: Self(Builtin.atomicrmw_sub_acquire_Int64(word, operand._value))
    case .releasing: Self(Builtin.atomicrmw_sub_release_Int64(word, operand._value))
    case .acquiringAndReleasing: Self(Builtin.atomicrmw_sub_acqrel_Int64(word, operand._value))
    }
  }

  @_transparent
  public static func _atomicAnd(
    _ operand: Self, at address: UnsafeMutableRawPointer, _ ordering: _AtomicUpdateOrdering
  ) -> Self {
    let word = address._rawValue
    return switch ordering {
    case .relaxed: Self(Builtin.atomicrmw_and_monotonic_Int64(word, operand._value))
    case .acquiring: Self(Builtin.atomicrmw_and_acquire_Int64(word, operand._value))
    case .releasing: Self(Builtin.atomicrmw_and_release_Int64(word, operand._value))
    case .acquiringAndReleasing: Self(Builtin.atomicrmw_and_acqrel_Int64(word, operand._value))
    }
  }

  @_transparent
  public static func _atomicOr(
    _ operand: Self, at address: UnsafeMutableRawPointer, _ ordering: _AtomicUpdateOrdering
  ) -> Self {
    let word = address._rawValue
    return switch ordering {
    case .relaxed: Self(Builtin.atomicrmw_or_monotonic_Int64(word, operand._value))
    case .acquiring: Self(Builtin.atomicrmw_or_acquire_Int64(word, operand._value))
    case .releasing: Self(Builtin.atomicrmw_or_release_Int64(word, operand._value))
    case .acquiringAndReleasing: Self(Builtin.atomicrmw_or_acqrel_Int64(word, operand._value))
    }
  }

  @_transparent
  public static func _atomicCompareExchange(
    _ expected: inout Self, _ desired: Self, at address: UnsafeMutableRawPointer,
    _ ordering: _AtomicUpdateOrdering
  ) -> Bool {
    let word = address._rawValue
    let (old, exchanged) =
      switch ordering {
      case .relaxed:
        Builtin.cmpxchg_monotonic_monotonic_Int64(word, expected._value, desired._value)
      case .acquiring:
        Builtin.cmpxchg_acquire_acquire_Int64(word, expected._value, desired._value)
      case .releasing:
        Builtin.cmpxchg_release_monotonic_Int64(word, expected._value, desired._value)
      case .acquiringAndReleasing:
        Builtin.cmpxchg_acqrel_acquire_Int64(word, expected._value, desired._value)
      }
    expected = Self(old)
    return Bool(exchanged)
  }

  @_transparent
  public static func _atomicWeakCompareExchange(
    _ expected: inout Self, _ desired: Self, at address: UnsafeMutableRawPointer,
    _ ordering: _AtomicUpdateOrdering
  ) -> Bool {
    let word = address._rawValue
    let (old, exchanged) =
      switch ordering {
      case .relaxed:
        Builtin.cmpxchg_monotonic_monotonic_weak_Int64(word, expected._value, desired._value)
      case .acquiring:
        Builtin.cmpxchg_acquire_acquire_weak_Int64(word, expected._value, desired._value)
      case .releasing:
        Builtin.cmpxchg_release_monotonic_weak_Int64(word, expected._value, desired._value)
      case .acquiringAndReleasing:
        Builtin.cmpxchg_acqrel_acquire_weak_Int64(word, expected._value, desired._value)
      }
    expected = Self(old)
    return Bool(exchanged)
  }
}
