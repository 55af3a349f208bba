import Dispatch

/// The first argument of overloads that return a promise and would otherwise be ambiguous.
public enum PMKNamespacer {
  /// The only case.
  case promise
}

extension DispatchQueue {
  /// Runs `body` on this queue, and returns a promise for its result or its error.
  @available(macOS 10.10, iOS 8.0, tvOS 9.0, watchOS 2.0, *)
  public final func async<T>(
    _: PMKNamespacer, group: DispatchGroup? = nil, qos: DispatchQoS = .default,
    flags: DispatchWorkItemFlags = [], execute body: @escaping () throws -> T
  ) -> Promise<T> {
    nonisolated(unsafe) let body = body
    let box = Box<T>()
    async(group: group, qos: qos, flags: flags) {
      do { box.seal(.fulfilled(try body())) } catch { box.seal(.rejected(error)) }
    }
    return Promise(box)
  }

  /// Runs `body` on this queue, and returns a guarantee for its result.
  @available(macOS 10.10, iOS 2.0, tvOS 10.0, watchOS 2.0, *)
  public final func async<T>(
    _: PMKNamespacer, group: DispatchGroup? = nil, qos: DispatchQoS = .default,
    flags: DispatchWorkItemFlags = [], execute body: @escaping () -> T
  ) -> Guarantee<T> {
    nonisolated(unsafe) let body = body
    let guarantee = Guarantee<T>(.pending)
    let box = guarantee.box
    async(group: group, qos: qos, flags: flags) { box.seal(body()) }
    return guarantee
  }
}
