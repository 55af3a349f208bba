import AsyncHTTPClient
import Hummingbird
import Pledge

/// Returns the response for a request that failed with `error`.
func errorResponse(to error: any Error) -> Response {
  let status: HTTPResponse.Status =
    switch rootCause(of: error) {
    case let error as HTTPError: error.status
    case is TimeoutError: .gatewayTimeout
    case let error as HTTPClientError where error == .deadlineExceeded: .gatewayTimeout
    case let error as BackendError where error.status == .gatewayTimeout: .gatewayTimeout
    case is Limiter.QueueFullError, is CancellationError: .serviceUnavailable
    default: .badGateway
    }
  let text = ByteBuffer(string: "\(status)\n")
  var response = Response(status: status, body: .init(byteBuffer: text))
  if status == .serviceUnavailable { response.headers[.retryAfter] = "1" }
  return response
}
