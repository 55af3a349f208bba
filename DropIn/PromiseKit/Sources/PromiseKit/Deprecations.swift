#if Deprecations
  import Dispatch

  // Names of older versions. The original excludes them from SwiftPM builds, so they require the
  // package trait `Deprecations`.

  /// Creates a promise for the arguments that `body` passes to its completion handler.
  @available(*, deprecated, message: "See `init(resolver:)`")
  public func wrap<T>(_ body: (@escaping (T?, Error?) -> Void) throws -> Void) -> Promise<T> {
    Promise { seal in try body { seal.resolve($0, $1) } }
  }

  /// Creates a promise for the arguments that `body` passes to its completion handler.
  @available(*, deprecated, message: "See `init(resolver:)`")
  public func wrap<T>(_ body: (@escaping (T, Error?) -> Void) throws -> Void) -> Promise<T> {
    Promise { seal in try body { seal.resolve($0, $1) } }
  }

  /// Creates a promise for the arguments that `body` passes to its completion handler.
  @available(*, deprecated, message: "See `init(resolver:)`")
  public func wrap<T>(_ body: (@escaping (Error?, T?) -> Void) throws -> Void) -> Promise<T> {
    Promise { seal in try body { seal.resolve($0, $1) } }
  }

  /// Creates a promise for the arguments that `body` passes to its completion handler.
  @available(*, deprecated, message: "See `init(resolver:)`")
  public func wrap(_ body: (@escaping (Error?) -> Void) throws -> Void) -> Promise<Void> {
    Promise { seal in try body { seal.resolve($0) } }
  }

  /// Creates a promise for the arguments that `body` passes to its completion handler.
  @available(*, deprecated, message: "See `init(resolver:)`")
  public func wrap<T>(_ body: (@escaping (T) -> Void) throws -> Void) -> Promise<T> {
    Promise { seal in try body { seal.fulfill($0) } }
  }

  extension Promise {
    /// Calls `body` when the promise is fulfilled or rejected.
    @available(*, deprecated, message: "See `ensure`")
    public func always(on q: DispatchQueue = .main, execute body: @escaping () -> Void) -> Promise {
      ensure(on: q, body)
    }
  }

  extension Thenable where T: Sequence {
    /// Returns a promise for the elements that `test` accepts.
    @available(*, deprecated, message: "See: `filterValues`")
    public func filter(
      on: DispatchQueue? = conf.Q.map, test: @escaping (T.Iterator.Element) -> Bool
    ) -> Promise<[T.Iterator.Element]> { filterValues(on: on, test) }
  }

  extension Thenable where T: Collection {
    /// A promise for the first element.
    @available(*, deprecated, message: "See: `firstValue`")
    public var first: Promise<T.Iterator.Element> { firstValue }

    /// A promise for the last element.
    @available(*, deprecated, message: "See: `lastValue`")
    public var last: Promise<T.Iterator.Element> { lastValue }
  }

  extension Thenable where T: Sequence, T.Iterator.Element: Comparable {
    /// Returns a promise for the elements in ascending order.
    @available(*, deprecated, message: "See: `sortedValues`")
    public func sorted(on: DispatchQueue? = conf.Q.map) -> Promise<[T.Iterator.Element]> {
      sortedValues(on: on)
    }
  }
#endif
