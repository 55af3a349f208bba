#if Tracing
  import Pledge
  import ServiceContextModule

  extension TaskLocals {
    /// Has the handlers of all promises find `ServiceContext.current` as it was where the operator that
    /// took them was called.
    ///
    /// Spans that are started in a handler then belong to the trace of the code that wrote the handler,
    /// and a metadata provider of swift-log finds the context. Call it once, when the program starts. A
    /// later call does nothing.
    public static func propagateServiceContext() { propagate(ServiceContext.$current) }
  }
#endif
