import Dispatch

// Converts the engine's steps to trace events.

extension PromiseDiagnostics.TraceEvent {
  init(_ cell: __shared Cell, _ step: __shared Instrumentation.Step) {
    promise = PromiseDiagnostics.PromiseID(cell)
    kind = Kind(cell, step)
  }
}

extension PromiseDiagnostics.TraceEvent.Kind {
  fileprivate init(_ cell: __shared Cell, _ step: __shared Instrumentation.Step) {
    switch step {
    case .created(let origin):
      self = .created(origin: origin)
    case .attached(let source, let observer):
      self = .attached(
        source: PromiseDiagnostics.PromiseID(source), isSettled: source.isSettled,
        executor: PromiseDiagnostics.ExecutorReference(
          target: observer.target, kind: observer.targetKind),
        isOperator: observer.body != nil || observer.isUncancellable)
    case .observes(let result):
      self = .observes(for: PromiseDiagnostics.PromiseID(result))
    case .handlerStarted(let source):
      let handler = cell.isHandler ? unsafeDowncast(cell, to: Handler.self) : nil
      self = .handlerStarted(
        callsClosure: handler?.body != nil && handler?.receives(source.rejection) == true
          && source.rejection?.isAbandonment != true)
    case .handlerReturned:
      self = .handlerReturned
    case .adopted(let inner, let isSettled):
      self = .adopted(inner: PromiseDiagnostics.PromiseID(inner), isSettled: isSettled)
    case .settled(let rejection):
      self = .settled(
        rejection.map { PromiseDiagnostics.RejectionReference(rejection: .passUnretained($0)) })
    case .withdrawn:
      self = .withdrawn
    case .cancellationRequested:
      self = .cancellationRequested
    case .waitStarted:
      self = .waitStarted
    case .waitEnded:
      self = .waitEnded
    case .released:
      self = .released
    }
  }
}

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

extension PromiseDiagnostics.PromiseID {
  init(_ cell: __shared Cell) {
    rawValue = UInt(bitPattern: Unmanaged.passUnretained(cell).toOpaque())
  }
}
