/// The results of an operation that runs for each of several inputs, as an asynchronous sequence.
///
/// ```swift
/// let pages = results(of: [home], limit: 8) { url in try await download(url) }
/// for try await (url, result) in pages {
///   guard case .success(let page) = result else { continue }
///   for link in page.links where seen.insert(link).inserted { pages.append(link) }
/// }
/// ```
///
/// A sequence ends when all inputs have been read and processed, and all results have been read. A
/// loop can therefore add inputs that follow from a result, as a crawler does.
///
/// Nothing starts before the first result is requested. Then, operations start in the order of their
/// inputs, those that were added first, as long as fewer than `limit` are running and fewer than `bufferLimit` are running or have
/// results that haven't been read.
///
/// **Cancellation.** The operations are cancelled, and no more start, when the reading task is
/// cancelled or the sequence is deallocated. They run in tasks of the sequence, which can outlive it
/// if they ignore cancellation.
///
/// Several tasks can read the same sequence; each result goes to one of them.
@_fixed_layout
public final class ConcurrentResults<Input: Sendable, Output: Sendable>: AsyncSequence,
  AsyncIteratorProtocol, Sendable
{
  /// An input and the result of its operation.
  public typealias Element = (input: Input, result: Result<Output, any Error>)

  /// An input of this sequence, and its result.
  ///
  /// `@unchecked Sendable`: as for `ResultItem`.
  @_fixed_layout @usableFromInline
  final class Item: ResultItem, @unchecked Sendable {
    @usableFromInline let input: Input
    @exclusivity(unchecked) @usableFromInline var result: Result<Output, any Error>?

    @inlinable
    init(_ input: Input) {
      self.input = input
      super.init()
    }
  }

  @usableFromInline let stream: ResultStream

  @inlinable
  init(
    _ limit: Int, _ bufferLimit: Int?, _ ordered: Bool,
    _ source: @escaping @Sendable () async throws -> Input?,
    _ operation: @escaping @Sendable (Input) async throws -> Output
  ) {
    stream = ResultStream(limit: limit, bufferLimit: bufferLimit, isOrdered: ordered) {
      try await source().map { Item($0) }
    } _: { item in
      let item = unsafeDowncast(item, to: Item.self)
      do {
        item.result = try await .success(operation(item.input))
      } catch {
        item.result = .failure(error)
      }
    }
  }

  deinit { stream.cancel() }

  /// Adds an input, after those that were added before.
  ///
  /// Its operation starts before those of the inputs that haven't been taken from the original
  /// sequence, which can be endless.
  ///
  /// - Returns: Whether the input was added; false if the sequence has ended.
  @inlinable @discardableResult
  public func append(_ input: Input) -> Bool { stream.append(Item(input)) }

  /// Returns the next result; nil when the sequence has ended.
  ///
  /// **Errors.** That of the sequence of inputs, after the results of its elements;
  /// `CancellationError` if a reading task was cancelled; and ``PromiseError/invalidArgument(_:)``
  /// if the limit is less than one. After an error, the sequence has ended.
  @inlinable
  nonisolated(nonsending) public func next() async throws -> Element? {
    try await stream.next().map { item in
      let item = unsafeDowncast(item, to: Item.self)
      return (item.input, item.result.unsafelyUnwrapped)
    }
  }

  /// Returns the sequence itself, which is its only iterator.
  public func makeAsyncIterator() -> ConcurrentResults { self }
}

/// Returns the results of `operation` for each of `inputs`, in the order in which they arrive, as an
/// asynchronous sequence to which inputs can be added.
///
/// ```swift
/// for try await (url, result) in results(of: urls, limit: 8, { try await download($0) }) {
///   print(url, result)
/// }
/// ```
///
/// An operation that fails doesn't end the sequence, nor cancel others. See ``ConcurrentResults``.
///
/// **Execution.** Each call runs in a task of the sequence, in the isolation in which `operation` was
/// written, with the task-local values and the priority of the task that reads the first result. The
/// iterator of `inputs` runs in these tasks, one call at a time.
///
/// - Parameters:
///   - inputs: The inputs, in the order in which their operations start.
///   - limit: The maximum number of operations that run at the same time, at least one.
///   - bufferLimit: The maximum number of operations that run or whose results haven't been read;
///     nil for twice the limit. With one, or less, the next operation starts when the last result
///     has been read.
///   - ordered: Whether results are in the order of the inputs. A result then waits until all
///     earlier ones have been read.
///   - operation: The function that is called for each input.
@inlinable
public func results<S: Sequence & Sendable, Output: Sendable>(
  of inputs: S, limit: Int, bufferLimit: Int? = nil, ordered: Bool = false,
  @_inheritActorContext @_implicitSelfCapture _ operation:
    @escaping @Sendable (S.Element) async throws -> Output
) -> ConcurrentResults<S.Element, Output> where S.Element: Sendable {
  // One worker at a time uses the iterator.
  nonisolated(unsafe) var iterator = inputs.makeIterator()
  return ConcurrentResults(limit, bufferLimit, ordered, { iterator.next() }, operation)
}

/// Returns the results of `operation` for each of `inputs` as they arrive, as an asynchronous
/// sequence to which inputs can be added.
///
/// An input is awaited only when its operation can start. Inputs that are added don't wait for it.
/// If `inputs` throws, the sequence throws that error after the results of the earlier inputs.
///
/// **Execution.** As for sequences, with the same parameters: each call of `operation` runs in a task
/// of the sequence, in the isolation in which it was written.
@inlinable
public func results<S: AsyncSequence & Sendable, Output: Sendable>(
  of inputs: S, limit: Int, bufferLimit: Int? = nil, ordered: Bool = false,
  @_inheritActorContext @_implicitSelfCapture _ operation:
    @escaping @Sendable (S.Element) async throws -> Output
) -> ConcurrentResults<S.Element, Output> where S.Element: Sendable {
  // One worker at a time uses the iterator.
  nonisolated(unsafe) var iterator = inputs.makeAsyncIterator()
  return ConcurrentResults(limit, bufferLimit, ordered, { try await iterator.next() }, operation)
}

/// Calls `transform` for each of `elements` as they arrive, with at most `limit` calls in progress at
/// a time, and returns the values as an asynchronous sequence, in the order of the elements.
///
/// ```swift
/// for try await page in concurrentMap(addresses, limit: 4, { try await download($0) }) {
///   print(page)
/// }
/// ```
///
/// The first error, in the order of the elements, ends the sequence and cancels the calls in
/// progress. Unless you pass false as `ordered`, values are in the order of the elements.
///
/// **Execution.** As for `results(of:limit:)`, with the same parameters: each call of `transform` runs
/// in a task of the sequence, in the isolation in which it was written.
@inlinable
public func concurrentMap<S: AsyncSequence & Sendable, Value: Sendable>(
  _ elements: S, limit: Int, bufferLimit: Int? = nil, ordered: Bool = true,
  @_inheritActorContext @_implicitSelfCapture _ transform:
    @escaping @Sendable (S.Element) async throws -> Value
) -> AsyncThrowingStream<Value, any Error> where S.Element: Sendable {
  let calls = results(
    of: elements, limit: limit, bufferLimit: bufferLimit, ordered: ordered, transform)
  return AsyncThrowingStream {
    guard let (_, result) = try await calls.next() else { return nil }
    // The sequence ends without an error of its own.
    if case .failure = result { calls.stream.cancel(with: nil) }
    return try result.get()
  }
}
