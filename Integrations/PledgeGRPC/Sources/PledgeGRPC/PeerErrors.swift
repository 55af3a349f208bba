import GRPCCore
import Pledge
import Synchronization

extension Peer {
  var deadlineHasPassed: RPCError {
    RPCError(
      code: .deadlineExceeded,
      message: "The deadline had passed before the call to \(name) could start.")
  }

  /// Returns `error` with the name of the server and, if the server is unavailable, with advice.
  func naming(_ error: any Error) -> any Error {
    guard let error = error as? RPCError else { return error }
    // The server answered, perhaps with the error of another one.
    if !error.metadata.isEmpty { return error.withoutProtocolFields }
    let message: String
    switch error.code {
    case .unavailable:
      message = """
        \(name) is unavailable: \(error.reason). Make sure that the server runs and accepts \
        connections there. If the call can be repeated, try it again, or on another server.
        """
    case .deadlineExceeded: message = "\(name) took too long: \(error.message)"
    default: return error
    }
    var named = RPCError(code: error.code, message: message)
    named.cause = error.cause
    return named
  }
}

extension RPCError {
  /// The error without the fields that HTTP/2 and gRPC have added to the user's.
  ///
  /// If a server sent them on, in its trailers, its client would close the stream.
  var withoutProtocolFields: RPCError {
    var error = self
    for (key, _) in metadata
    where key.hasPrefix(":") || key.hasPrefix("grpc-") || key == "content-type" {
      error.metadata.removeAllValues(forKey: key)
    }
    return error
  }

  /// The message of the innermost cause.
  fileprivate var reason: String {
    var reason = message
    var cause = cause
    while let next = cause {
      reason = (next as? RPCError)?.message ?? "\(next)"
      cause = (next as? RPCError)?.cause
    }
    return reason.hasSuffix(".") ? String(reason.dropLast()) : reason
  }
}

/// Runs `call` with the requests that `write` writes, and throws the error of `write` if it ended the call.
func writing<Request, Response>(
  _ write: @escaping @Sendable (RPCWriter<Request>) throws -> Promise<Void>, _ metadata: Metadata,
  _ call: (StreamingClientRequest<Request>) async throws -> Response
) async throws -> Response {
  // gRPC reports it as a failure to write.
  let first = Mutex<(any Error)?>(nil)
  let request = StreamingClientRequest(of: Request.self, metadata: metadata) { writer in
    let writer = ObservedWriter(writer)
    do { try await write(RPCWriter(wrapping: writer)).value } catch {
      // When the call ends, gRPC cancels this task, and writing fails with an error of gRPC.
      if !(Task.isCancelled || (writer.hasFailed && error is RPCError)) {
        first.withLock { if $0 == nil { $0 = error } }
      }
      throw error
    }
  }
  do { return try await call(request) } catch { throw first.withLock { $0 } ?? error }
}

/// A writer that records whether writing to the call has failed.
///
/// It distinguishes an `RPCError` of the call from that of another call, whose responses are requests of
/// this one.
private final class ObservedWriter<Message: Sendable>: RPCWriterProtocol {
  private let base: RPCWriter<Message>
  private let failed = Atomic(false)

  var hasFailed: Bool { failed.load(ordering: .relaxed) }

  init(_ base: RPCWriter<Message>) { self.base = base }

  func write(_ message: Message) async throws {
    try await observing { try await base.write(message) }
  }

  func write(contentsOf messages: some Sequence<Message>) async throws {
    try await observing { try await base.write(contentsOf: messages) }
  }

  private func observing(_ write: () async throws -> Void) async throws {
    do { try await write() } catch {
      failed.store(true, ordering: .relaxed)
      throw error
    }
  }
}
