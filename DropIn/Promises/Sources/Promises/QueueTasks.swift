import Dispatch
@_spi(DropIns) import Pledge

#if compiler(>=6.2)
  extension Task where Success == Void, Failure == Never {
    /// Creates a task that starts as a handler of `promise` on `queue`, in the order of handlers.
    ///
    /// ```swift
    /// let source = loadRows()
    /// Task(on: queue, after: source) {
    ///   guard let rows = try? await source.get() else { return }
    ///   self.rows = rows
    /// }
    /// ```
    ///
    /// The code after an `await` runs on `queue` again, but functions with an isolation of their own
    /// run there. Like a handler, the task doesn't inherit isolation, priority, or task-local values.
    /// From macOS 15 and iOS 18, the thread that resumes the task enqueues its next part; before, another
    /// thread does.
    ///
    /// If the promise will never be resolved, the task ends without a call of `operation`. But an
    /// `operation` that uses `promise`, as above, keeps it alive: the task then stays suspended until
    /// the promise is resolved. Resolve the promise in every case, for example with an error.
    ///
    /// The original doesn't have this initializer. It's disfavored, so that a program that declares
    /// the same one gets its own.
    @discardableResult @_disfavoredOverload
    public init<Value>(
      on queue: DispatchQueue, after promise: Promise<Value>,
      _ operation: nonisolated(nonsending) @escaping () async -> Void
    ) { self = Self.held(on: queue, until: promise.storage, operation) }
  }
#endif
