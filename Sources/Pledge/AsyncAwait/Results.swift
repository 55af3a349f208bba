extension Promise {
  /// The outcomes of `promises` as they come: an asynchronous sequence in order of completion.
  ///
  /// ```swift
  /// for await result in Promise.results(of: downloads) { show(result) }
  /// ```
  ///
  /// The sequence ends when all promises have settled; for no promises, at once. The errors count as
  /// handled. Leaving the loop, or cancelling its task, withdraws from the promises that are still
  /// pending: those that nobody else waits for are cancelled. Outcomes that nobody has asked for yet
  /// are kept.
  public static func results(
    of promises: some Sequence<Promise>
  ) -> AsyncStream<Result<Value, any Error>> {
    let inputs = Array(promises)
    return AsyncStream { continuation in
      let gathering = Gathering(count: inputs.count)
      let remaining = Countdown(inputs.count)
      continuation.onTermination = { _ in gathering.finish(withdrawing: true) }
      if inputs.isEmpty { continuation.finish() }
      for (index, input) in inputs.enumerated() {
        let observer = InputObserver(gathering, index: index, source: input.cell) { _, source in
          continuation.yield(source.handledResult())
          if remaining.reachesZero() { continuation.finish() }
        }
        gathering.observe(input.cell, with: observer)
      }
      gathering.endObserving()
    }
  }
}
