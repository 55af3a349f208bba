// The contexts that handlers inherit from the code that creates them: registered task-local values,
// and pairs of functions.
//
// Reading a value is cheap, and binding one isn't. A handler therefore shares the snapshot of the
// one before it if nothing has changed, and binds its values only if others are current.

/// How one context is captured, compared, and restored.
///
/// It consists of closures, and isn't a generic class, because the compiler specializes closures
/// where the type of the value is known.
@usableFromInline
final class PropagatedContext: Sendable {
  /// The task-local key, if the context is one.
  fileprivate let key: ObjectIdentifier?
  /// Returns the current value; the argument is that of the context that was registered next.
  fileprivate let capture: @Sendable (PropagatedContext, CapturedValue?) -> CapturedValue
  /// Whether a value is the current one.
  fileprivate let isCurrent: @Sendable (CapturedValue) -> Bool
  /// Sets a value while it calls its second argument.
  fileprivate let restore: @Sendable (CapturedValue, () -> Void) -> Void

  @inlinable
  convenience init<Value: Sendable>(
    key: ObjectIdentifier?, read: @escaping @Sendable () -> Value,
    restore: @escaping @Sendable (Value, () -> Void) -> Void
  ) {
    self.init(
      key: key,
      capture: { TypedValue(read(), of: $0, next: $1) },
      isCurrent: { hasSameBits(unsafeDowncast($0, to: TypedValue<Value>.self).value, read()) },
      restore: { restore(unsafeDowncast($0, to: TypedValue<Value>.self).value, $1) })
  }

  @usableFromInline
  init(
    key: ObjectIdentifier?,
    capture: @escaping @Sendable (PropagatedContext, CapturedValue?) -> CapturedValue,
    isCurrent: @escaping @Sendable (CapturedValue) -> Bool,
    restore: @escaping @Sendable (CapturedValue, () -> Void) -> Void
  ) {
    self.key = key
    self.capture = capture
    self.isCurrent = isCurrent
    self.restore = restore
  }
}

/// The value of a context, and those of the contexts that were registered later.
///
/// `@unchecked Sendable`: immutable, and the value in the subclass is `Sendable`.
@usableFromInline
class CapturedValue: @unchecked Sendable {
  private final let context: PropagatedContext
  private final let next: CapturedValue?

  @usableFromInline
  init(of context: PropagatedContext, next: CapturedValue?) {
    self.context = context
    self.next = next
  }

  fileprivate final var isCurrent: Bool {
    context.isCurrent(self) && (next?.isCurrent ?? true)
  }

  /// Calls `work` with these values; that of the context that was registered first is outermost.
  fileprivate final func restore(_ work: () -> Void) {
    // A handler runs exactly once, however often the user's function calls it.
    var hasRun = false
    func run() {
      if hasRun { return }
      hasRun = true
      if let next { next.restore(work) } else { work() }
    }
    context.restore(self, run)
    run()
  }
}

/// A captured value; only the closures of its context know the type.
///
/// `@unchecked Sendable`: immutable.
@_fixed_layout @usableFromInline
final class TypedValue<Value: Sendable>: CapturedValue, @unchecked Sendable {
  @usableFromInline let value: Value

  @inlinable
  init(_ value: Value, of context: PropagatedContext, next: CapturedValue?) {
    self.value = value
    super.init(of: context, next: next)
  }
}

/// Whether two values have the same representation in memory, which then also holds the same
/// references: neither can be told from the other.
///
/// Equal values can have different bits. The answer is then only too careful.
@inlinable
func hasSameBits<Value>(_ first: Value, _ second: Value) -> Bool {
  withUnsafeBytes(of: first) { first in
    withUnsafeBytes(of: second) { second in
      var offset = 0
      while offset &+ 8 <= first.count {
        let words = (
          first.loadUnaligned(fromByteOffset: offset, as: UInt64.self),
          second.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        )
        if words.0 != words.1 { return false }
        offset &+= 8
      }
      while offset < first.count {
        if first[offset] != second[offset] { return false }
        offset &+= 1
      }
      return true
    }
  }
}

/// The values of all contexts at the time of a capture.
package final class ContextSnapshot: Sendable {
  private let first: CapturedValue
  private let count: UInt64

  fileprivate init?(_ contexts: [PropagatedContext]) {
    var first: CapturedValue?
    for context in contexts.reversed() { first = context.capture(context, first) }
    guard let first else { return nil }
    self.first = first
    count = UInt64(contexts.count)
  }

  /// Whether a capture would return the same values, of as many contexts.
  fileprivate var isCurrent: Bool { Instrumentation.contextCount == count && first.isCurrent }

  /// Calls `work` once, with these values.
  package func restore(_ work: () -> Void) {
    if first.isCurrent { work() } else { first.restore(work) }
  }

  /// Returns the result of `work`, which is called with these values.
  package func call<Result>(_ work: () -> Result) -> Result {
    var result: Result?
    restore { result = work() }
    return result.unsafelyUnwrapped  // `restore` has called it.
  }
}

extension Instrumentation {
  private static let registered = Mutex<[PropagatedContext]>([])

  /// Makes handlers that are created from now on capture `context`, unless its key is registered.
  @usableFromInline
  static func propagate(_ context: PropagatedContext) {
    registered.withLock { contexts in
      if context.key != nil, contexts.contains(where: { $0.key == context.key }) { return }
      contexts.append(context)
      addContext()
    }
  }

  /// The current values of all contexts; nil if there are no contexts.
  static func snapshot() -> ContextSnapshot? {
    guard capturesContext else { return nil }
    let state = ThreadState.current
    if let last = state.pointee.lastSnapshot {
      let last = unsafeDowncast(last, to: ContextSnapshot.self)
      if last.isCurrent { return last }
    }
    let snapshot = ContextSnapshot(registered.withLock { $0 })
    // The old values are released last, since their `deinit` can capture, too.
    let old = exchange(&state.pointee.lastSnapshot, with: snapshot)
    withExtendedLifetime(old) {}
    return snapshot
  }
}
