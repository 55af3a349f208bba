import GRPCCore
import Pledge
import Synchronization

extension Peer {
  var deadlineHasPassed: RPCError {
    RPCError(
      code: .deadlineExceeded,
      message: "The deadline had passed before the call to \(name) could start.")
  }

  /// `error`, which says which server it is about, and what to do if that is unavailable.
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
  /// What the innermost cause says.
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

/// The error of a closure of the program's that gRPC passes on as a failure to write.
final class FirstError: Sendable {
  private let first = Mutex<(any Error)?>(nil)

  var error: (any Error)? { first.withLock { $0 } }

  /// `write`, with its error noted, unless it is the cancellation with which the call ends it.
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
