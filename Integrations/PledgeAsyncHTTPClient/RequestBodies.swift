#if AsyncHTTPClient
  import AsyncHTTPClient
  import NIOCore
  import NIOPosix
  import Pledge
  import PledgeNIO

  extension HTTPClient.Body {
    /// Returns a body that `write` sends in parts, at the speed at which the server reads.
    ///
    /// ```swift
    /// request.body = .writing { body in
    ///   body.send(header).then { body.send(rows) }
    /// }
    /// ```
    ///
    /// The body ends when the promise of `write` is fulfilled. If it is rejected, or `write`
    /// throws, the request fails with that error. If the request ends first, the promise is
    /// cancelled.
    ///
    /// **Execution.** `write` runs on the request's event loop, so it must not block. It runs again
    /// each time the request is sent again, for example after a redirect. The context that
    /// ``Pledge/TaskLocals`` propagates is that of the call of `load` or `stream`.
    ///
    /// - Parameters:
    ///   - contentLength: The number of bytes that `write` will send; nil for a chunked body.
    ///   - write: A closure that sends the parts.
    public static func writing(
      contentLength: Int64? = nil,
      _ write: @escaping @Sendable (StreamWriter) throws -> Promise<Void>
    ) -> HTTPClient.Body {
      .stream(contentLength: contentLength) { writer in
        let promise: Promise<Void>
        do { promise = try write(writer) } catch { promise = .rejected(error) }
        CurrentPiece.ofBody?.begin(promise)
        // The request's event loop, if it is one of NIO's.
        let loop =
          MultiThreadedEventLoopGroup.currentEventLoop ?? HTTPClient.defaultEventLoopGroup.next()
        return promise.future(on: loop)
      }
    }
  }

  extension HTTPClient.Body.StreamWriter {
    /// Sends a part of the body.
    ///
    /// The promise is fulfilled when there is room for the next part, and rejected if the request
    /// has ended. Wait for it before you send the next part; otherwise, all parts are in memory at
    /// the same time. Cancelling the promise doesn't prevent the part from being sent.
    public func send(_ buffer: ByteBuffer) -> Promise<Void> { write(.byteBuffer(buffer)).promise }
  }

  /// The promise of a user's closure that a request waits for, and that is cancelled with the
  /// request.
  final class CurrentPiece: Sendable {
    /// The instance for the body that is about to be written.
    @TaskLocal static var ofBody: CurrentPiece?

    private struct State {
      var promise: Promise<Void>?
      var isOver = false
    }

    private let state = Mutex(State())

    /// Whether the request has ended, or was cancelled.
    var isOver: Bool { state.withLock { $0.isOver } }

    /// Replaces the promise, which is cancelled: the request is sent again, so nothing waits for
    /// what it sent before.
    func begin(_ promise: Promise<Void>) {
      let unwanted = state.withLock { state in
        state.isOver ? promise : exchange(&state.promise, with: promise)
      }
      unwanted?.cancel()
    }

    func end() {
      let promise = state.withLock { state in
        state.isOver = true
        return exchange(&state.promise, with: nil)
      }
      promise?.cancel()
    }
  }
#endif
