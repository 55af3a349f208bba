#if NIO
  // What all files of this target import.
  @_exported import Dispatch
  @_exported import NIOCore
  @_exported import NIOEmbedded
  @_exported import NIOPosix
  @_exported import Pledge
  @_exported import PledgeNIO
  @_exported import PledgeTesting
  @_exported import Testing

  struct Boom: Error, Equatable {}

  /// An event loop of the process's; all tests share its thread.
  var someLoop: any EventLoop { MultiThreadedEventLoopGroup.singleton.next() }

  /// Calls `body` with a loop of its own, which is shut down when `body` has returned.
  func withLoop<T>(_ body: (any EventLoop) async throws -> T) async throws -> T {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    do {
      let result = try await body(group.next())
      try await group.shutdownGracefully()
      return result
    } catch {
      try? await group.shutdownGracefully()
      throw error
    }
  }

  /// A promise of an event loop that fails at the end of the test if nothing has completed it, as NIO
  /// traps where a promise is dropped.
  final class Held<Value: Sendable>: Sendable {
    let promise: EventLoopPromise<Value>
    var future: EventLoopFuture<Value> { promise.futureResult }

    init(on loop: any EventLoop = someLoop) { promise = loop.makePromise() }
    deinit { promise.fail(CancellationError()) }
  }
#endif
