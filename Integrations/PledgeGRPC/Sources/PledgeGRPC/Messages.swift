public import GRPCCore
public import Pledge

extension RPCWriter {
  /// Sends a message.
  ///
  /// The promise is fulfilled when there is room for the next message, and rejected if the call has
  /// ended. Wait for it before you send the next message; otherwise, messages can arrive in any order, and
  /// all of them are in memory at the same time. Cancelling the promise doesn't prevent the message from
  /// being sent.
  ///
  /// gRPC's transport decides whether there is room. The HTTP/2 transport detects a full connection only
  /// when its event loop handles a message, and accepts further messages until then. If the loop is busy,
  /// it can buffer many messages.
  public func send(
    _ message: Element, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Promise<Void> {
    Promise(fileID: fileID, line: line) { try await write(message) }
  }
}
