import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// Describes the failures of connections to one server, possibly through a proxy, to the user.
struct ConnectionErrors {
  let url: URL
  let proxy: Proxies.Server?

  /// Returns an error that describes the failure.
  func explained(_ error: any Error) -> any Error {
    switch error {
    case is CancellationError, is ConnectionFailure: error
    case let error as ReceiverError: error.error
    case let error as HTTPClientError: explained(error)
    case let error as NIOConnectionError:
      if let error = error.connectionErrors.first?.error as? IOError {
        cannotConnect(error.errnoCode)
      } else if error.dnsAError != nil || error.dnsAAAAError != nil {
        ConnectionFailure("cannot find the host \(error.host)", isRefusal: true)
      } else {
        ConnectionFailure("cannot connect to \(peer)")
      }
    case let error as IOError:
      // Failures to connect can also have this type.
      [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH].contains(error.errnoCode)
        ? cannotConnect(error.errnoCode)
        : ConnectionFailure(
          "the connection to \(server) failed: \(String(cString: strerror(error.errnoCode)))")
    case NIOSSLError.uncleanShutdown: ConnectionFailure("\(server) closed the connection")
    case is HTTPParserError:
      ConnectionFailure("the response of \(server) is incomplete or is not HTTP")
    case is NIOSSLExtraError, is WrongHost: wrongHost
    default: explainedTLS("\(error)")
    }
  }

  private var server: String { url.server }

  /// The server or the proxy to which the connection leads.
  private var peer: String { proxy.map { "the proxy \($0.host):\($0.port)" } ?? server }

  private var wrongHost: ConnectionFailure {
    ConnectionFailure("the certificate of \(server) is for another host", isTransient: false)
  }

  private func cannotConnect(_ code: Int32) -> ConnectionFailure {
    ConnectionFailure(
      "cannot connect to \(peer): \(String(cString: strerror(code)))", isRefusal: true)
  }

  private func explained(_ error: HTTPClientError) -> any Error {
    switch error {
    case .cancelled: CancellationError()
    case .connectTimeout, .tlsHandshakeTimeout, .httpProxyHandshakeTimeout:
      ConnectionFailure("\(peer) did not accept the connection in time")
    case .remoteConnectionClosed, .uncleanShutdown:
      ConnectionFailure("\(server) closed the connection")
    case .proxyAuthenticationRequired:
      ConnectionFailure("\(peer) requires a user name and a password", isTransient: false)
    case .invalidProxyResponse: ConnectionFailure("\(peer) refused a tunnel to \(server)")
    default: ConnectionFailure("\(server): \(error.shortDescription)", isTransient: false)
    }
  }

  /// Returns an error for the text of an error of TLS, which contains a code such as
  /// `OPENSSL_internal:WRONG_VERSION_NUMBER`, and paths of the machine that built the library.
  private func explainedTLS(_ text: String) -> ConnectionFailure {
    guard let code = text.firstMatch(of: /OPENSSL_internal:([A-Z0-9_]+)/)?.1 else {
      return ConnectionFailure("the connection to \(server) failed: \(text)")
    }
    return switch code {
    case "CERTIFICATE_VERIFY_FAILED":
      ConnectionFailure(
        "the certificate of \(server) has expired, or no authority that is trusted has signed it",
        isTransient: false)
    case "WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST":
      ConnectionFailure(
        "\(server) does not use TLS; is the URL one of http://?", isTransient: false)
    default:
      ConnectionFailure(
        "TLS with \(server) failed: \(code.lowercased().replacing("_", with: " "))",
        isTransient: false)
    }
  }
}
