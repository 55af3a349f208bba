extension Promise {
  /// Calls `transform` for each of `elements`, with at most `limit` promises pending at a time.
  ///
  /// Elements are taken lazily and in order, when fewer than `limit` promises are pending. The
  /// values are in the order of the elements. The first rejection or thrown error rejects the
  /// result; no more elements are taken, and pending promises continue or, with `cancellingRest`,
  /// are cancelled. If `limit` is less than one, the result is rejected with
  /// ``PromiseError/invalidArgument(_:)``. Cancelling the result cancels the pending promises and
  /// takes no more elements.
  ///
  /// **Execution.** `transform`, and the iterator of `elements`, run in the isolation in which
  /// `transform` was written, one call at a time.
  @inlinable
  public static func all<S: Sequence & Sendable, T: Sendable>(
    _ elements: S, concurrently limit: Int, cancellingRest: Bool = false,
    @_inheritActorContext _ transform:
      @escaping @Sendable @isolated(any) (S.Element) throws -> Promise<T>
  ) -> Promise<[T]> where Value == [T] {
    concurrently(elements, limit, cancellingRest, Placed(transform))
  }

  /// The same as the form without `on:`, but `transform` runs on `executor`.
  @inlinable @_disfavoredOverload
  public static func all<S: Sequence & Sendable, T: Sendable>(
    on executor: some PromiseExecutor, _ elements: S, concurrently limit: Int,
    cancellingRest: Bool = false,
    _ transform: @escaping @Sendable (S.Element) throws -> Promise<T>
  ) -> Promise<[T]> where Value == [T] {
    concurrently(elements, limit, cancellingRest, Placed(transform, on: executor))
  }

  /// See the form for promises; this one calls a closure that returns guarantees, or promises of other
  /// modules.
  @inlinable @_disfavoredOverload
  public static func all<S: Sequence & Sendable, T: Thenable>(
    _ elements: S, concurrently limit: Int, cancellingRest: Bool = false,
    @_inheritActorContext _ transform:
      @escaping @Sendable @isolated(any) (S.Element) throws -> T
  ) -> Promise<[T.Value]> where Value == [T.Value] {
    concurrently(
      elements, limit, cancellingRest,
      Placed(transform).map { transform in { try transform($0).source } })
  }

  /// The same as the form whose closure returns a promise, for an asynchronous `transform`.
  ///
  /// **Execution.** Each call runs in its own task, in the isolation in which `transform` was
  /// written.
  @_disfavoredOverload
  public static func all<S: Sequence & Sendable, T: Sendable>(
    _ elements: S, concurrently limit: Int, cancellingRest: Bool = false,
    @_inheritActorContext _ transform:
      @escaping @Sendable @isolated(any) (S.Element) async throws -> T
  ) -> Promise<[T]> where Value == [T], S.Element: Sendable {
    let transform = IsolatedOperation(transform)
    let (promise, resolver) = withResolvers()
    resolver.settleWithTask {
      let hasFailed = Failure()
      return try await concurrentMap(hasFailed.stopping(elements), limit: limit) { element in
        do {
          return try await transform(element) as T?
        } catch {
          // First the promise, because the other calls can ignore their cancellation.
          resolver.settle(.failure(error))
          hasFailed.isNoted.store(true, ordering: .releasing)
          if cancellingRest { throw error }
          return nil
        }
      }.compactMap(\.self)
    }
    return transform.settling(promise)
  }

  /// Calls `transform` for each of `elements` as they arrive, with at most `limit` promises
  /// pending.
  ///
  /// The next element is awaited only when fewer than `limit` promises are pending. Otherwise, this
  /// is the same as for sequences.
  public static func all<S: AsyncSequence & Sendable, T: Sendable>(
    _ elements: S, concurrently limit: Int, cancellingRest: Bool = false,
    @_inheritActorContext _ transform:
      @escaping @Sendable @isolated(any) (S.Element) throws -> Promise<T>
  ) -> Promise<[T]> where Value == [T], S.Element: Sendable {
    concurrently(arriving: elements, limit, cancellingRest, Placed(transform))
  }

  fileprivate static func concurrently<S: AsyncSequence & Sendable, T: Sendable>(
    arriving elements: S, _ limit: Int, _ cancellingRest: Bool,
    _ transform: Placed<@Sendable (S.Element) throws -> Promise<T>>
  ) -> Promise<[T]> where Value == [T], S.Element: Sendable {
    guard limit >= 1 else { return badLimit(limit) }
    let kept = transform.kept()
    let (work, result) = startWork(of: T.self, cancellingRest)
    let feeding = Promise<Void> {
      for try await element in elements {
        let start: @Sendable (()) throws -> Void = { _ in
          work.add(Promise<T>.attempted { try kept.closure(element) }.cell)
        }
        try await Promise<Void>.value(()).mapped(Placed(start, at: kept.target)).value
        try await work.room(below: limit).value
      }
      work.close()
    }
    _ = feeding.caught(.inPlace(ErrorAction { work.fail($0) }))
    work.stopAtEnd(feeding)
    return result
  }

  /// See the form for promises; this one calls a closure that returns guarantees, or promises of other
  /// modules.
  @_disfavoredOverload
  public static func all<S: AsyncSequence & Sendable, T: Thenable>(
    _ elements: S, concurrently limit: Int, cancellingRest: Bool = false,
    @_inheritActorContext _ transform:
      @escaping @Sendable @isolated(any) (S.Element) throws -> T
  ) -> Promise<[T.Value]> where Value == [T.Value], S.Element: Sendable {
    concurrently(
      arriving: elements, limit, cancellingRest,
      Placed(transform).map { transform in { try transform($0).source } })
  }

  /// Returns the work of a bounded `all`, and the promise for its values.
  @inlinable
  static func startWork<T: Sendable>(
    of type: T.Type, _ cancellingRest: Bool
  ) -> (ConcurrentWork, Promise<[T]>) where Value == [T] {
    let (result, resolver) = withResolvers()
    let values = ConcurrentValues<T>()
    let work = ConcurrentWork(
      result.cell, cancelsRest: cancellingRest, keep: { values.keep($0, at: $1) },
      succeed: { resolver.fulfill(values.all) })
    return (work, result)
  }

  @usableFromInline
  static func badLimit<T>(_ limit: Int) -> Promise<[T]> where Value == [T] {
    .rejected(
      PromiseError.invalidArgument("`concurrently:` must be at least 1, not \(limit)."))
  }

  @inlinable
  static func concurrently<S: Sequence & Sendable, T: Sendable>(
    _ elements: S, _ limit: Int, _ cancellingRest: Bool,
    _ transform: Placed<@Sendable (S.Element) throws -> Promise<T>>
  ) -> Promise<[T]> where Value == [T] {
    guard limit >= 1 else { return badLimit(limit) }
    let (work, result) = startWork(of: T.self, cancellingRest)
    let iterator = SerialIterator(elements.makeIterator())
    let isInPlace = transform.target.object == nil
    // One turn on the executor per element: take it, start it, and return when there is room. In
    // place, no turn is needed, and a loop takes elements while there is room.
    @Sendable func startNext() -> Promise<Void> {
      work.room(below: limit).chained(
        transform.map { transform in
          { _ in
            repeat {
              guard let element = iterator.next() else {
                work.close()
                return .value(())
              }
              work.add(Promise<T>.attempted { try transform(element) }.cell)
            } while isInPlace && work.hasRoom(below: limit)
            return startNext()
          }
        })
    }
    let feeding = startNext()
    _ = feeding.caught(.inPlace(ErrorAction { work.fail($0) }))
    work.stopAtEnd(feeding)
    return result
  }
}

extension AsyncSequence where Self: Sendable, Element: Sendable {
  /// Calls `body` for each element as it arrives, with at most `limit` of its promises pending.
  ///
  /// ```swift
  /// let stored = uploads.forEach(concurrently: 4) { upload in store(upload) }
  /// ```
  ///
  /// The next element is awaited only when fewer than `limit` promises are pending, so a slow `body` slows
  /// down a sequence that waits for its consumer. The result is fulfilled when the sequence has ended and
  /// all promises are fulfilled.
  ///
  /// **Errors.** The error of the sequence, of `body`, or of one of its promises rejects the result and
  /// cancels the promises that are pending. A limit of less than one is a
  /// ``PromiseError/invalidArgument(_:)``.
  ///
  /// **Execution.** `body` runs in the isolation in which it was written, one call at a time.
  ///
  /// **Cancellation.** Cancelling the result ends the iteration and cancels the promises that are pending.
  ///
  /// - Complexity: O(1) for each element, and one byte of memory.
  public func forEach(
    concurrently limit: Int = 1,
    @_inheritActorContext _ body:
      @escaping @Sendable @isolated(any) (Element) throws -> Promise<Void>
  ) -> Promise<Void> {
    Promise.concurrently(arriving: self, limit, true, Placed(body)).asVoid()
  }
}

/// Whether an asynchronous `transform` has failed, so that no further elements are taken.
private final class Failure: Sendable {
  let isNoted = AtomicFlag(false)

  func stopping<S: Sequence>(_ elements: S) -> some Sequence<S.Element> {
    var iterator = elements.makeIterator()
    return AnyIterator { self.isNoted.load(ordering: .acquiring) ? nil : iterator.next() }
  }
}
