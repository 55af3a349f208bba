#if Logging
  import Logging
  import Pledge

  extension TaskLocals {
    /// Has the handlers of all promises find `Logger.current`, with its metadata, as it was where the
    /// operator that took them was called.
    ///
    /// Call it once, when the program starts. A later call does nothing.
    ///
    /// - Complexity: Each handler costs one read of the logger, and one binding, more.
    public static func propagateLogger() { loggerIsPropagated }

    private static let loggerIsPropagated: Void = propagate(
      capturing: { Logger.current },
      restoring: { logger, work in withLogger(logger) { _ in work() } })
  }
#endif
