import Dispatch

extension PromiseDiagnostics.ExecutorReference {
  /// An executor that exists as long as the process.
  package enum Permanent { case immediate, global, main }

  /// The permanent executor, if it's one.
  package var permanent: Permanent? {
    guard let target else { return .immediate }
    let object = target.toOpaque()
    if object == Unmanaged.passUnretained(Queues.global).toOpaque() { return .global }
    return object == Unmanaged.passUnretained(Queues.main).toOpaque() ? .main : nil
  }

  /// The description of the executor.
  package var executor: PromiseDiagnostics.Executor {
    guard let target = target?.takeUnretainedValue() else {
      return PromiseDiagnostics.Executor(name: "immediate", id: nil, isSerial: false)
    }
    if kind != .scheduler {
      let name =
        switch permanent {
        case .global: "global"
        case .main: "main"
        default: unsafeDowncast(target, to: DispatchQueue.self).label
        }
      return PromiseDiagnostics.Executor(
        name: name, id: Self.address(of: target), isSerial: permanent.map { $0 == .main })
    }
    let scheduler = unsafeDowncast(target, to: Scheduler.self)
    return PromiseDiagnostics.Executor(
      name: scheduler.name, id: scheduler.identity.map { Self.address(of: $0) },
      isSerial: scheduler.isIsolation ? true : nil)
  }

  private static func address(of object: AnyObject) -> UInt {
    UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())
  }
}

extension PromiseDiagnostics.RejectionReference {
  /// A copy of the rejection.
  package var copy: PromiseDiagnostics.Rejection {
    let rejection = rejection.takeUnretainedValue()
    return PromiseDiagnostics.Rejection(
      error: rejection.error, id: rejection.root.address, origin: rejection.origin)
  }
}

extension Promise {
  /// The ID of this promise in trace events.
  package var id: PromiseDiagnostics.PromiseID { PromiseDiagnostics.PromiseID(cell) }
}

extension Guarantee {
  /// The ID of this guarantee in trace events.
  package var id: PromiseDiagnostics.PromiseID { base.id }
}
