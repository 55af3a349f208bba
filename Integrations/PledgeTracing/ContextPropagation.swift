#if Tracing
  import Pledge
  import ServiceContextModule

  extension TaskLocals {
    /// Propagates `ServiceContext.current` from where a handler is attached to the handler, for all
    /// promises.
    ///
    /// Spans that are started in a handler then belong to the trace of the code that attached the
    /// handler, and a metadata provider of swift-log finds the context. Call it once, when the
    /// program starts. Later calls do nothing.
    public static func propagateServiceContext() { propagate(ServiceContext.$current) }
  }
#endif
