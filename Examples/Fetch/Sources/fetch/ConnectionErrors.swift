import AsyncHTTPClient
import FetchEngine
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// Returns an error that describes the failure of a connection to the user.
func explained(_ error: any Error) -> any Error {
  switch error {
  case is CancellationError, is ConnectionFailure: error
  case let error as HTTPClientError: explained(error)
  case let error as NIOConnectionError: explained(error)
  case let error as IOError:
    // Failures to connect can also have this type.
    ConnectionFailure("the connection failed: \(String(cString: strerror(error.errnoCode)))")
  case NIOSSLError.uncleanShutdown: ConnectionFailure("the server closed the connection")
  case is HTTPParserError:
    ConnectionFailure("the response is incomplete or is not HTTP")
  case is NIOSSLExtraError:
    ConnectionFailure("the certificate of the server is for another host", isTransient: false)
  default:
    if "\(error)".uppercased().contains("CERTIFICATE") {
      ConnectionFailure("the certificate of the server is not trusted", isTransient: false)
    } else {
      ConnectionFailure("\(error)")
    }
  }
}

private func explained(_ error: HTTPClientError) -> any Error {
  switch error {
  case .cancelled: CancellationError()
  case .connectTimeout, .tlsHandshakeTimeout, .socksHandshakeTimeout, .httpProxyHandshakeTimeout:
    ConnectionFailure("the server did not accept the connection in time")
  case .remoteConnectionClosed, .uncleanShutdown:
    ConnectionFailure("the server closed the connection")
  case .proxyAuthenticationRequired:
    ConnectionFailure("the proxy requires a user name and a password", isTransient: false)
  case .invalidProxyResponse: ConnectionFailure("the proxy refused the connection")
  default: ConnectionFailure("\(error.shortDescription)", isTransient: false)
  }
}

private func explained(_ error: NIOConnectionError) -> ConnectionFailure {
  let place = "\(error.host):\(error.port)"
  if let io = error.connectionErrors.first?.error as? IOError {
    return ConnectionFailure(
      "cannot connect to \(place): \(String(cString: strerror(io.errnoCode)))")
  }
  if error.dnsAError != nil || error.dnsAAAAError != nil {
    return ConnectionFailure("cannot find the host \(error.host)")
  }
  return ConnectionFailure("cannot connect to \(place)")
}
