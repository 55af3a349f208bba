public import GRPCCore
public import Pledge

extension RPCWriter {
  /// Sends a message.
  ///
  /// The promise is fulfilled when there is room for the next message, and rejected if the call has
  /// ended. Wait for it before you send the next message: messages that are sent at once arrive in any
  /// order, and take memory for all of them. Cancelling the promise doesn't withdraw the message.
  ///
  /// Whether there is room, gRPC's transport decides. That over HTTP/2 notices that a connection is full
  /// when its event loop has the message, and takes more messages until then: with a loop that is busy, it
  /// can hold many.
  public func send(
    _ message: Element, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Promise<Void> {
    Promise(fileID: fileID, line: line) { try await write(message) }
  }
}

extension RPCAsyncSequence {
  /// Passes the messages to `receive` as they arrive, as fast as its promises are fulfilled.
  ///
  /// The promise is fulfilled when the promise of the last message is. It is rejected with the error
  /// that `receive` throws, or with which a promise of `receive` is rejected, or with that of the call.
  /// Cancelling it cancels the promise of `receive`, which isn't called again.
  ///
  /// **Execution.** `receive` runs in a task of its own, one call at a time.
  public func forEach(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ receive: @escaping @Sendable (Element) throws -> Promise<Void>
  ) -> Promise<Void> {
    Promise(fileID: fileID, line: line) {
      for try await message in self { try await receive(message).value }
    }
  }
}
