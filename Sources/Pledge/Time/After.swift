extension Promise where Value == Void {
  /// Creates a promise that is fulfilled after `duration`.
  ///
  /// A duration of zero or less fulfills it immediately. The timer is removed as soon as everything
  /// made from the promise is cancelled or deallocated. In tests, pass a test clock as `clock`.
  ///
  /// If the `sleep` of `clock` throws although it isn't cancelled, the continuous clock measures the
  /// rest of the time. This applies to every operator and policy that accepts a clock.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public static func after(
    _ duration: Duration, clock: any Clock<Duration> = ContinuousClock()
  ) -> Promise<Void> {
    after(TimeSpan(duration), TimeSource(clock))
  }

  package static func after(_ span: TimeSpan, _ time: TimeSource) -> Promise<Void> {
    guard span > .zero else { return .value(()) }
    let cell = Root<Void>()
    cell.noteCreation(nil)
    // The cell retains the timer, not vice versa, so that a timer without a consumer is removed.
    let timer = time.startTimer(after: span) { [weak cell] in
      cell?.fulfill(())
    }
    cell.noteProducer(.timer(timer))
    return Promise(cell: cell)
  }
}

extension Thenable {
  /// Passes the value on after `duration`; an error passes immediately.
  ///
  /// The time starts when this promise is fulfilled. Cancelling removes the timer immediately.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public func delay(
    _ duration: Duration, clock: any Clock<Duration> = ContinuousClock()
  ) -> Promise<Value> {
    source.delayed(TimeSpan(duration), TimeSource(clock))
  }
}

extension Promise {
  func delayed(_ span: TimeSpan, _ time: TimeSource) -> Promise {
    chained(
      .inPlace { value in Promise<Void>.after(span, time).mapped(.inPlace { value }) })
  }
}
