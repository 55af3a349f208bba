#if NIO
  import NIOCore
  import Pledge

  extension Scheduled where T: Sendable {
    /// A promise with the result of this task; cancelling the promise cancels the task.
    ///
    /// If the task is cancelled in another way, the promise is rejected with `CancellationError`.
    @inlinable
    public var promise: Promise<T> {
      Promise(fileID: #fileID, line: #line) { resolver in
        resolver.onCancel { self.cancel() }
        futureResult.whenDone { result in
          if case .failure(EventLoopError.cancelled) = result {
            resolver.reject(CancellationError())
          } else {
            resolver.resolve(result)
          }
        }
      }
    }
  }
#endif
