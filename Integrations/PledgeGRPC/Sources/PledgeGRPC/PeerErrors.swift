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
    var named = RPCError(code: error.code, message: message, metadata: error.metadata)
    named.cause = error.cause
    return named
  }
}

extension RPCError {
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

/// The error of a user's closure, which gRPC reports as a failure to write.
final class FirstError: Sendable {
  private let first = Mutex<(any Error)?>(nil)

  var error: (any Error)? { first.withLock { $0 } }

  /// Returns `write`, whose error is recorded unless it results from the end of the call.
  func noting<Writer>(
    _ write: @escaping @Sendable (Writer) async throws -> Void
  ) -> @Sendable (Writer) async throws -> Void {
    { writer in
      do { try await write(writer) } catch {
        if !(error is CancellationError || error is RPCError) {
          self.first.withLock { if $0 == nil { $0 = error } }
        }
        throw error
      }
    }
  }
}
