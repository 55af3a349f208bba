import GRPCCore
import Pledge
import PledgeGRPC

/// The methods, each twice: with handlers of gRPC's own, and with handlers that return promises.
enum Methods {
  typealias Echo = RemoteMethod<[UInt8], [UInt8]>
  /// The request is the number of responses.
  typealias Blocks = RemoteMethod<Int, [UInt8]>

  static let plainEcho = Echo("cost.Cost", "PlainEcho", request: .bytes, response: .bytes)
  static let pledgeEcho = Echo("cost.Cost", "PledgeEcho", request: .bytes, response: .bytes)
  static let plainBlocks = Blocks("cost.Cost", "PlainBlocks", request: .json, response: .bytes)
  static let pledgeBlocks = Blocks("cost.Cost", "PledgeBlocks", request: .json, response: .bytes)

  static let message = [UInt8](repeating: 1, count: 100)
}

extension RPCRouter {
  mutating func registerPlainMethods() {
    registerHandler(
      forMethod: Methods.plainEcho.descriptor, deserializer: Methods.plainEcho.request,
      serializer: Methods.plainEcho.response
    ) { request, _ in
      let request = try await ServerRequest(stream: request)
      return StreamingServerResponse(single: ServerResponse(message: request.message))
    }
    registerHandler(
      forMethod: Methods.plainBlocks.descriptor, deserializer: Methods.plainBlocks.request,
      serializer: Methods.plainBlocks.response
    ) { request, _ in
      let count = try await ServerRequest(stream: request).message
      return StreamingServerResponse { writer in
        for _ in 0..<count { try await writer.write(Methods.message) }
        return [:]
      }
    }
  }

  mutating func registerPledgeMethods() {
    register(Methods.pledgeEcho) { message, _ in .value(message) }
    registerStream(
      Methods.pledgeBlocks,
      writing: { count, responses, _ in
        Promise().reduce(0..<count) { _, _ in responses.send(Methods.message) }
      })
  }
}

extension Peer {
  func plainEcho() async throws {
    let response = try await client.unary(
      request: ClientRequest(message: Methods.message), descriptor: Methods.plainEcho.descriptor,
      serializer: Methods.plainEcho.request, deserializer: Methods.plainEcho.response,
      options: .defaults
    ) { try $0.message }
    try check(response.count, Methods.message.count)
  }

  func pledgeEcho() async throws {
    let response = try await call(Methods.pledgeEcho, Methods.message).value
    try check(response.count, Methods.message.count)
  }

  func plainBlocks(_ count: Int) async throws {
    let received = try await client.serverStreaming(
      request: ClientRequest(message: count), descriptor: Methods.plainBlocks.descriptor,
      serializer: Methods.plainBlocks.request, deserializer: Methods.plainBlocks.response,
      options: .defaults
    ) { response in
      var received = 0
      for try await message in response.messages { received += message.count }
      return received
    }
    try check(received, count * Methods.message.count)
  }

  func pledgeBlocks(_ count: Int) async throws {
    let received = Sum()
    try await stream(Methods.pledgeBlocks, count) { message in
      received.add(message.count)
      return .value(())
    }.value
    try check(received.value, count * Methods.message.count)
  }
}

struct WrongAnswerError: Error {
  let found: Int
  let expected: Int
}

func check(_ found: Int, _ expected: Int) throws {
  if found != expected { throw WrongAnswerError(found: found, expected: expected) }
}
