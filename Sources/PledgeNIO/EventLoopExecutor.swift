#if NIO
  import NIOCore
  import NIOPosix
  import Pledge

  extension PromiseExecutor where Self == TurnExecutor {
    /// Runs handlers on an event loop, in order, several in one visit.
    ///
    /// All executors of one loop are the same one, so handlers of one promise run in the order in which
    /// they were attached, wherever their executors came from. After at most 128 handlers the loop gets
    /// to its channels again. Handlers for a loop that has shut down do not run: their promises are
    /// rejected with `BrokenPromiseError`.
    ///
    /// - Complexity: O(1), with a look-up under a lock: keep the executor where many handlers need it.
    public static func eventLoop(_ loop: any EventLoop) -> TurnExecutor {
      BlockingOnLoops.areFound
      return TurnExecutor.shared(
        by: loop, name: "\(loop)", isCurrent: { loop.inEventLoop }, schedule: { loop.execute($0) })
    }
  }

  /// Has `wait()` throw on the threads of event loops, instead of blocking their channels.
  enum BlockingOnLoops {
    /// Evaluated by everything that makes a promise which a loop settles.
    static let areFound: Void = BlockingChecks.add {
      guard let loop = MultiThreadedEventLoopGroup.currentEventLoop else { return nil }
      return """
        wait() must not be called on the thread of an event loop (\(loop)): until it returns, the \
        loop's channels, timers and handlers stand still, and what the promise waits for may be one \
        of them. Use `then`, `await`, or wait on another thread.
        """
    }
  }
#endif
