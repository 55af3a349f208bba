/// Reads the elements of an asynchronous sequence as promises, each on request.
///
/// ```swift
/// let lines = ElementReader(file.lines)
/// lines.next().then { title in lines.next().map { author in (title, author) } }
/// ```
///
/// Nothing is read ahead: the sequence is asked for an element when ``next(fileID:line:)`` is called, and for the
/// first one only then. For the first element alone, write `ElementReader(file.lines).next()`.
///
/// The sequence is iterated in a task, which is cancelled when the reader is deallocated. A promise that is
/// pending retains the reader.
public final class ElementReader<Element: Sendable>: Sendable {
  private let requests: AsyncStream<Resolver<Element?>>.Continuation
  private let task: Task<Void, Never>

  /// Creates a reader of `elements`.
  ///
  /// The sequence is iterated in a task of its own, on the global concurrent executor.
  public init<S: AsyncSequence & Sendable>(_ elements: S) where S.Element == Element {
    let (stream, requests) = AsyncStream<Resolver<Element?>>.makeStream()
    self.requests = requests
    task = Task.detached {
      var iterator = elements.makeAsyncIterator()
      // An element whose request was cancelled before it arrived.
      var rest: Element?
      for await request in stream where request.isPending {
        do {
          let element = if let kept = rest { kept as Element? } else { try await iterator.next() }
          rest = request.fulfill(element) ? nil : element
        } catch {
          request.reject(error)
        }
      }
    }
  }

  deinit { task.cancel() }

  /// Returns a promise for the next element; nil after the last one.
  ///
  /// Calls are served in their order. If the sequence throws an error, the promise is rejected with it; what
  /// further calls return is up to the sequence, usually nil.
  ///
  /// **Cancellation.** Cancelling the promise doesn't affect the sequence: the element for which it waited
  /// is that of the next call.
  ///
  /// - Complexity: O(1).
  public func next(fileID: StaticString = #fileID, line: UInt = #line) -> Promise<Element?> {
    Promise(fileID: fileID, line: line) { resolver in
      requests.yield(resolver)
      resolver.onCancel { withExtendedLifetime(self) {} }
    }
  }
}

extension AsyncSequence where Self: Sendable, Element: Sendable {
  /// Returns a promise for all elements, in their order.
  ///
  /// If the sequence throws an error, the promise is rejected with it.
  ///
  /// **Cancellation.** Cancelling the promise cancels the task that iterates over the sequence.
  ///
  /// - Complexity: O(*n*) memory, where *n* is the number of elements.
  public func allValues(fileID: StaticString = #fileID, line: UInt = #line) -> Promise<[Element]> {
    Promise(fileID: fileID, line: line) {
      var values: [Element] = []
      for try await value in self { values.append(value) }
      return values
    }
  }
}
