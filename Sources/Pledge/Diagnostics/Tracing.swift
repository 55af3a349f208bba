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
      self = .handlerStarted(callsClosure: (cell as? Handler)?.callsClosure(for: source) ?? false)
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

extension Handler {
  /// Returns whether this handler's closure receives the result of `source`.
  fileprivate func callsClosure(for source: Cell) -> Bool {
    if source.rejection?.isAbandonment == true { return false }
    let wanted = source.isRejected ? Mark.wantsRejection : Mark.wantsValue
    return body != nil && marks & wanted != 0
  }
}

extension PromiseDiagnostics.Executor {
  /// Creates a description of where `handler` will run.
  fileprivate init(of handler: Handler) {
    guard let target = handler.target?.takeUnretainedValue() else {
      self.init(name: "immediate", id: nil, isSerial: false)
      return
    }
    if handler.marks & Cell.Mark.queueTarget != 0 {
      let isGlobal = target === Queues.global
      self.init(
        name: isGlobal ? "global" : unsafeDowncast(target, to: DispatchQueue.self).label,
        id: Self.address(of: target), isSerial: isGlobal ? false : nil)
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

extension Cell {
  /// Reports a promise that a resolver or a combinator settles.
  @usableFromInline
  final func noteCreation(_ origin: SourceLocation?) {
    Instrumentation.note(self, .created(origin: origin))
  }

  /// Reports a promise that is created rejected.
  @usableFromInline
  final func noteRejection(_ rejection: Rejection) {
    Instrumentation.note(self, .created(origin: rejection.origin))
    Instrumentation.note(self, .settled(rejection))
  }

  /// Reports that this observer, which creates no promise, works for the promise of `result`.
  @usableFromInline
  final func noteObserving(for result: Cell) {
    Instrumentation.note(self, .observes(result: result))
  }
}
