import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLError {
  /// The same error, which prints as one line that says which host and why.
  ///
  /// Foundation prints its dictionary, with the text and the URL in it several times over.
  var readable: URLError {
    // A cast would make an error without the description.
    URLError(
      _nsError: ReadableURLError(
        domain: NSURLErrorDomain, code: code.rawValue, userInfo: userInfo))
  }
}

/// What a `URLError` wraps, with a description of its own.
///
/// `@unchecked Sendable`: immutable, as every `NSError` is.
private final class ReadableURLError: NSError, @unchecked Sendable {
  override var description: String {
    let url = userInfo[NSURLErrorFailingURLErrorKey] as? URL
    let host = url?.host.map { host in " to \(host)" + (url?.port.map { ":\($0)" } ?? "") }
    let reason = localizedDescription.split(whereSeparator: \.isNewline).joined(separator: " ")
    return "Request\(host ?? "") failed: \(reason) (URLError \(code))"
  }

  override var debugDescription: String { description }
}
