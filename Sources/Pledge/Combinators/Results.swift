extension Promise {
  /// Returns the results of `promises` as an asynchronous sequence, in order of completion.
  ///
  /// ```swift
  /// for await result in Promise.results(of: downloads) { show(result) }
  /// ```
  ///
  /// The sequence ends when all promises have settled; if `promises` is empty, immediately. The
  /// errors count as handled. Leaving the loop, or cancelling its task, cancels the promises that
  /// are still pending and have no other consumer. Results are buffered until they are requested.
  /// An abandoned promise has no result and doesn't delay the end.
  public static func results(
    of promises: some Sequence<Promise>
  ) -> AsyncStream<Result<Value, any Error>> {
    let inputs = Array(promises)
    return AsyncStream { continuation in
      let state = CombinatorState(count: inputs.count)
      let remaining = Countdown(inputs.count)
      continuation.onTermination = { _ in state.finish(.cancelled) }
      if inputs.isEmpty { continuation.finish() }
      for (index, input) in inputs.enumerated() {
        let observer = InputObserver(state, index: index, source: input.cell) { _, source in
          if source.rejection?.isAbandonment != true { continuation.yield(source.handledResult()) }
          if remaining.reachesZero() { continuation.finish() }
        }
        state.observe(input.cell, with: observer)
      }
      state.endObserving()
    }
  }
}
