#if NIO
  import NIOCore
  import NIOPosix
  import Pledge

  extension PromiseExecutor where Self == TurnExecutor {
    /// Returns an executor that runs handlers on an event loop, in order and in batches.
    ///
    /// The executor is the same for each call with the same loop. Handlers that you attach to one
    /// promise therefore run in the order in which you attached them. One task of the loop runs up
    /// to 128 handlers before the loop serves its channels again. After the loop has shut down,
    /// handlers don't run, and their promises are rejected with `BrokenPromiseError`.
    ///
    /// - Complexity: O(1), with a lookup under a lock. If many handlers use the executor, store it.
    public static func eventLoop(_ loop: any EventLoop) -> TurnExecutor {
      _ = BlockingOnLoops.isForbidden
      return TurnExecutor.shared(
        by: loop, name: "\(loop)", isCurrent: { loop.inEventLoop }, schedule: { loop.execute($0) })
    }
  }

  /// Makes `wait()` throw on the threads of event loops, where it would block their channels.
  enum BlockingOnLoops {
    /// Has this effect when it's first used: by each executor of a loop, converted future, and timer.
    static let isForbidden: Bool = {
      BlockingPlaces.add {
        MultiThreadedEventLoopGroup.currentEventLoop.map {
          "on the thread of an event loop (\($0))"
        }
      }
      return true
    }()
  }
#endif
