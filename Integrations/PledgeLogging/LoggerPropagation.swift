#if Logging
  import Logging
  import Pledge

  extension TaskLocals {
    /// Propagates `Logger.current`, with its metadata, from where a handler is attached to the
    /// handler, for all promises.
    ///
    /// Call it once, when the program starts. Later calls do nothing.
    ///
    /// - Complexity: Each handler costs two reads of the logger, and a binding if another one is current
    ///   when it runs.
    public static func propagateLogger() { loggerIsPropagated }

    private static let loggerIsPropagated: Void = propagate(
      capturing: { Logger.current },
      restoring: { logger, work in withLogger(logger) { _ in work() } })
  }
#endif
