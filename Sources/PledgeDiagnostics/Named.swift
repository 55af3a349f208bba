import Pledge

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension Promise {
  /// Gives this promise a name for the reports of a ``Trace``, which show it next to the operation:
  /// in trees, error paths, wait cycles and timelines.
  ///
  /// ```swift
  /// let avatar = download(url).map { Image($0) }.named("avatar of \(id)")
  /// ```
  ///
  /// `name` is only evaluated while a trace is on; otherwise this is the look at a flag. A promise
  /// that is named twice has the last name.
  ///
  /// - Returns: This promise.
  @discardableResult
  public func named(_ name: @autoclosure () -> String) -> Promise {
    guard !RunningTraces.isEmpty else { return self }
    let name = name()
    for trace in RunningTraces.all { trace.record(name: name, of: id) }
    return self
  }
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension Guarantee {
  /// Gives this guarantee a name for the reports of a ``Trace``.
  ///
  /// `name` is only evaluated while a trace is on.
  @discardableResult
  public func named(_ name: @autoclosure () -> String) -> Guarantee {
    guard !RunningTraces.isEmpty else { return self }
    let name = name()
    for trace in RunningTraces.all { trace.record(name: name, of: id) }
    return self
  }
}
