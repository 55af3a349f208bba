import Hummingbird
import NIOCore
import Synchronization

/// The connections of the gateway, to cancel the page of a client that disconnects.
///
/// Hummingbird's own way of detecting this reads the connection to its end, so that the client
/// can't send another request on it. A client that closes only its sending side counts as
/// disconnected.
final class Connections: Sendable {
  private let observers = Mutex<[ObjectIdentifier: ConnectionObserver]>([:])

  /// Returns the result of `work`, and calls `cancel` if the client disconnects in the meantime, or
  /// already has.
  func whileConnected<Value>(
    _ context: GatewayContext, cancel: @escaping @Sendable () -> Void,
    _ work: () async throws -> Value
  ) async throws -> Value {
    let observer = observers.withLock { $0[ObjectIdentifier(context.channel)] }
    if let observer { observer.onDisconnect(cancel) } else { cancel() }
    defer { observer?.onDisconnect(nil) }
    return try await work()
  }

  fileprivate func set(_ observer: ConnectionObserver?, for channel: any Channel) {
    observers.withLock { $0[ObjectIdentifier(channel)] = observer }
  }
}

/// The context of a request, with its connection.
struct GatewayContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  let channel: any Channel

  init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    channel = source.channel
  }
}

/// Detects that the client of a connection disconnects.
///
/// SwiftNIO reads ahead while a request is served, so it sees the end of the connection.
final class ConnectionObserver: ChannelInboundHandler, RemovableChannelHandler, Sendable {
  typealias InboundIn = Any

  private struct State {
    var hasDisconnected = false
    /// Cancels the work for the current request, if there is one.
    var cancel: (@Sendable () -> Void)?
  }

  private let connections: Connections
  private let state = Mutex(State())

  init(_ connections: Connections) { self.connections = connections }

  /// Makes a disconnection call `cancel`; calls it now if the client has already disconnected.
  fileprivate func onDisconnect(_ cancel: (@Sendable () -> Void)?) {
    let isTooLate = state.withLock { state in
      state.cancel = cancel
      return state.hasDisconnected
    }
    if isTooLate { cancel?() }
  }

  private func clientHasDisconnected() {
    let cancel = state.withLock { state in
      state.hasDisconnected = true
      return state.cancel.take()
    }
    cancel?()
  }

  func handlerAdded(context: ChannelHandlerContext) { connections.set(self, for: context.channel) }
  func handlerRemoved(context: ChannelHandlerContext) { connections.set(nil, for: context.channel) }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event as? ChannelEvent == .inputClosed { clientHasDisconnected() }
    context.fireUserInboundEventTriggered(event)
  }

  func channelInactive(context: ChannelHandlerContext) {
    clientHasDisconnected()
    context.fireChannelInactive()
  }
}
