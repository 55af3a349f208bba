import Dispatch

extension PromiseDiagnostics.ExecutorReference {
  /// An executor that exists as long as the process.
  package enum Permanent: UInt, CaseIterable {
    case immediate = 1, global, main

    package var executor: PromiseDiagnostics.Executor {
      PromiseDiagnostics.Executor(name: "\(self)", id: rawValue, isSerial: self == .main)
    }
  }

  /// The permanent executor, if it's one.
  package var permanent: Permanent? {
    guard let target else { return .immediate }
    let object = target.toOpaque()
    if object == Unmanaged.passUnretained(Queues.global).toOpaque() { return .global }
    return object == Unmanaged.passUnretained(Queues.main).toOpaque() ? .main : nil
  }

  /// The description of the executor.
  package var executor: PromiseDiagnostics.Executor {
    guard permanent == nil, let target = target?.takeUnretainedValue() else {
      return (permanent ?? .immediate).executor
    }
    if kind != .scheduler {
      let queue = unsafeDowncast(target, to: DispatchQueue.self)
      return PromiseDiagnostics.Executor(
        name: queue.label, id: Self.address(of: queue), isSerial: nil)
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
      error: rejection.error, id: rejection.root.address, origin: rejection.origin,
      isCancellation: rejection.isCancellation)
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
