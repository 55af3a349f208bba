import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLError {
  /// Returns the same error, with a description of one line that contains the host and the reason.
  ///
  /// Foundation's description is a dictionary that contains the text and the URL several times; on
  /// Linux, that of a request that timed out contains neither.
  func readable(_ request: URLRequest) -> URLError {
    var info = userInfo
    info[NSURLErrorFailingURLErrorKey] = info[NSURLErrorFailingURLErrorKey] ?? request.url
    info[NSLocalizedDescriptionKey] = info[NSLocalizedDescriptionKey] ?? Self.reasons[code]
    // A cast would create an error without this description.
    return URLError(
      _nsError: ReadableURLError(domain: NSURLErrorDomain, code: code.rawValue, userInfo: info))
  }

  private static let reasons: [Code: String] = [
    .timedOut: "The request timed out.",
    .httpTooManyRedirects: "There were too many redirects.",
    .badServerResponse: "The response is invalid.",
    .requestBodyStreamExhausted: "The stream of the body can't be sent again for a redirect.",
    .cannotOpenFile: "The file to send can't be opened.",
  ]
}

/// The `NSError` that a `URLError` wraps, with its own description.
///
/// `@unchecked Sendable`: immutable, like every `NSError`.
private final class ReadableURLError: NSError, @unchecked Sendable {
  override var description: String {
    let url = userInfo[NSURLErrorFailingURLErrorKey] as? URL
    let host = url?.host.map { host in " to \(host)" + (url?.port.map { ":\($0)" } ?? "") }
    let reason = localizedDescription.split(whereSeparator: \.isNewline).joined(separator: " ")
    return "Request\(host ?? "") failed: \(reason) (URLError \(code))"
  }

  override var debugDescription: String { description }
}
