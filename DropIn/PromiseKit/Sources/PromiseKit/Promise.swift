@_spi(DropIns) import Pledge

/// The eventual result of an operation: a value or an error.
///
/// ```swift
/// firstly {
///   fetchUser(id: 7)
/// }.then { user in
///   fetchAvatar(of: user)
/// }.done { avatar in
///   imageView.image = avatar
/// }.catch { error in
///   show(error)
/// }
/// ```
///
/// Handlers run on the main queue unless you pass another one as `on:`. With `on: nil`, they run in
/// place, on the thread that resolves the promise.
@_fixed_layout public final class Promise<T>: Thenable, CatchMixin {
  /// The engine's promise, which several promises can share.
  @usableFromInline let core: Core<T>
  /// The number of attached handlers, for `debugDescription`.
  @usableFromInline let handlers = HandlerCount()
  /// The write side, retained as long as handlers can be attached; nil for derived promises.
  @usableFromInline let openBox: Box<T>?

  @inlinable
  init(core: Core<T>) {
    self.core = core
    openBox = nil
  }

  @inlinable
  init(_ box: Box<T>) {
    core = box.core
    openBox = box
  }

  @usableFromInline
  convenience init(_: PMKUnambiguousInitializer) { self.init(Box<T>()) }

  @usableFromInline
  func noteHandler() { handlers.value.wrappingAdd(1, ordering: .relaxed) }

  var box: Box<T> { openBox ?? Box(sealedBy: core) }

  /// Creates a promise that is fulfilled with `value`.
  @inlinable
  public static func value(_ value: T) -> Promise<T> { Promise(core: .value(Boxed(value))) }

  /// Creates a promise that is rejected with `error`.
  @inlinable
  public init(error: Error) {
    core = .rejected(unreported(error))
    openBox = nil
  }

  /// Creates a promise that settles like another thenable.
  @inlinable
  public init<U: Thenable>(_ bridge: U) where U.T == T {
    core = bridge.attach()
    openBox = (bridge as? Promise<T>)?.openBox
  }

  /// Creates a promise that `body` resolves through its resolver, now or later.
  ///
  /// `body` runs inside this call. If it throws, the promise is rejected with that error.
  @inlinable
  public init(resolver body: (Resolver<T>) throws -> Void) {
    let box = Box<T>()
    core = box.core
    openBox = box
    let resolver = Resolver(box)
    do { try body(resolver) } catch { resolver.reject(error) }
  }

  /// Creates a pending promise and the resolver that resolves it.
  @inlinable
  public class func pending() -> (promise: Promise<T>, resolver: Resolver<T>) {
    let box = Box<T>()
    return (Promise(box), Resolver(box))
  }

  /// Calls `to` with the result: inside this call if the promise is already resolved, and otherwise
  /// on the thread that resolves it.
  @inlinable
  public func pipe(to: @escaping (Result<T>) -> Void) {
    if let result { return to(result) }
    nonisolated(unsafe) let handler = to
    attach().observe(on: .immediate) { handler(Result($0)) }
  }

  /// The current result; nil while the promise is pending.
  @inlinable
  public var result: Result<T>? { core.currentResult.map { Result($0) } }
}

// `@unchecked Sendable`: all stored properties are immutable and `Sendable`. As for `Boxed`, user
// code protects a value that isn't `Sendable`. If the conformance depended on the value, the
// compiler would reject Swift 6 code that captures such promises in `@Sendable` closures and imports
// the original with `@preconcurrency`.
extension Promise: @unchecked Sendable {}

extension Promise {
  /// Blocks the calling thread until the promise is resolved, and returns the value or throws the
  /// error.
  ///
  /// On the main thread, this logs ``LogEvent/waitOnMainThread``. It never returns if the chain
  /// needs the blocked thread.
  public func wait() throws -> T {
    switch waitForResult() {
    case .fulfilled(let value): return value
    case .rejected(let error): throw error
    }
  }
}

extension Promise where T == Void {
  /// Creates a promise that is fulfilled.
  @inlinable
  public convenience init() { self.init(core: .value(Boxed(()))) }

  /// A promise that is fulfilled.
  @inlinable
  public static var value: Promise<Void> { .value(()) }
}

extension Promise: CustomStringConvertible {
  /// The result, or the type while the promise is pending: `Promise(3)`, `Promise(…Int)`.
  public var description: String {
    switch result {
    case nil: "Promise(…\(T.self))"
    case .rejected(let error): "Promise(\(error))"
    case .fulfilled(let value): "Promise(\(value))"
    }
  }
}

extension Promise: CustomDebugStringConvertible {
  /// The type, the state, and the result: `Promise<Int>.fulfilled(3)`.
  public var debugDescription: String {
    switch result {
    case nil: "Promise<\(T.self)>.pending(handlers: \(handlers.value.load(ordering: .relaxed)))"
    case .rejected(let error): "Promise<\(T.self)>.rejected(\(type(of: error)).\(error))"
    case .fulfilled(let value): "Promise<\(T.self)>.fulfilled(\(value))"
    }
  }
}

/// The number of handlers of a promise.
///
/// A type of its own, because a stored property of a class with a fixed layout can't name a type of
/// the SPI.
@usableFromInline
struct HandlerCount: ~Copyable {
  let value: Atomic<Int>
  @usableFromInline init() { value = Atomic(0) }
}
