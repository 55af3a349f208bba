extension Promise {
  /// The outcomes of `promises` as they come: an asynchronous sequence in order of completion.
  ///
  /// ```swift
  /// for await result in Promise.results(of: downloads) { show(result) }
  /// ```
  ///
  /// The sequence ends when all promises have settled; for no promises, at once. The errors count as
  /// handled. Leaving the loop, or cancelling its task, cancels the promises that are still pending
  /// and that nobody else waits for. Results that nobody has asked for yet are kept. A promise that
  /// was abandoned has no result, and does not hold up the end.
  public static func results(
    of promises: some Sequence<Promise>
  ) -> AsyncStream<Result<Value, any Error>> {
    let inputs = Array(promises)
    return AsyncStream { continuation in
      let state = CombinatorState(count: inputs.count)
      let remaining = Countdown(inputs.count)
      continuation.onTermination = { _ in state.finish(.cancelling) }
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
