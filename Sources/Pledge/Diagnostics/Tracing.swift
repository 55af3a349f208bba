import Dispatch

// Converts the engine's steps to trace events.

extension PromiseDiagnostics.TraceEvent {
  init(_ cell: Cell, _ step: Instrumentation.Step) {
    promise = PromiseDiagnostics.PromiseID(cell)
    kind = Kind(cell, step)
  }
}

extension PromiseDiagnostics.TraceEvent.Kind {
  fileprivate init(_ cell: Cell, _ step: Instrumentation.Step) {
    switch step {
    case .created(let origin):
      self = .created(origin: origin)
    case .attached(let source, let observer):
      self = .attached(
        source: PromiseDiagnostics.PromiseID(source), isSettled: source.isSettled,
        executor: PromiseDiagnostics.Executor(of: observer), isOperator: observer.body != nil)
    case .waits(let source, let handler):
      // Doesn't check whether it has a closure, because another thread may already run it.
      self = .attached(
        source: PromiseDiagnostics.PromiseID(source), isSettled: source.isSettled,
        executor: PromiseDiagnostics.Executor(of: handler), isOperator: false)
    case .observes(let result):
      self = .observes(for: PromiseDiagnostics.PromiseID(result))
    case .handlerStarted(let source):
      let handler = cell as? Handler
      self = .handlerStarted(
        callsClosure: handler?.body != nil && handler?.receives(source.rejection) == true
          && source.rejection?.isAbandonment != true)
    case .handlerReturned:
      self = .handlerReturned
    case .adopted(let inner, let isSettled):
      self = .adopted(inner: PromiseDiagnostics.PromiseID(inner), isSettled: isSettled)
    case .settled(let rejection):
      self = .settled(rejection.map { PromiseDiagnostics.Rejection($0) })
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

extension PromiseDiagnostics.Executor {
  /// Creates a description of where `handler` will run.
  fileprivate init(of handler: Handler) {
    guard let target = handler.target?.takeUnretainedValue() else {
      self.init(name: "immediate", id: nil, isSerial: false)
      return
    }
    if handler.targetKind != .scheduler {
      let (isGlobal, isMain) = (target === Queues.global, target === Queues.main)
      let label = unsafeDowncast(target, to: DispatchQueue.self).label
      self.init(
        name: isGlobal ? "global" : isMain ? "main" : label, id: Self.address(of: target),
        isSerial: isGlobal ? false : isMain ? true : nil)
    } else {
      let scheduler = unsafeDowncast(target, to: Scheduler.self)
      self.init(
        name: scheduler.name, id: scheduler.identity.map { Self.address(of: $0) },
        isSerial: scheduler.isIsolation ? true : nil)
    }
  }

  private static func address(of object: AnyObject) -> UInt {
    UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())
  }
}

extension PromiseDiagnostics.Rejection {
  fileprivate init(_ rejection: Rejection) {
    self.init(
      error: rejection.error,
      id: rejection.root.address,
      origin: rejection.origin)
  }
}

extension PromiseDiagnostics.PromiseID {
  init(_ cell: Cell) {
    rawValue = UInt(bitPattern: Unmanaged.passUnretained(cell).toOpaque())
  }
}
