import Pledge

extension Promise {
  /// Gives this promise a name that the reports of a ``Trace`` show next to the operation.
  ///
  /// ```swift
  /// let avatar = download(url).map { Image($0) }.named("avatar of \(id)")
  /// ```
  ///
  /// The name appears in trees, error paths, wait cycles, and timelines. `name` is evaluated only
  /// while a trace is recording; otherwise, the call only checks a flag. If a promise is named more
  /// than once, the last name applies.
  ///
  /// - Returns: This promise.
  @discardableResult
  public func named(_ name: @autoclosure () -> String) -> Promise {
    Recorder.record(name: name, of: id)
    return self
  }
}

extension Guarantee {
  /// Gives this guarantee a name that the reports of a ``Trace`` show next to the operation.
  @discardableResult
  public func named(_ name: @autoclosure () -> String) -> Guarantee {
    Recorder.record(name: name, of: id)
    return self
  }
}
