import Foundation
import PromiseKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// `@unchecked Sendable`: a response doesn't change after it is received.
/// The error for an HTTP response whose status doesn't indicate success.
public enum PMKHTTPError: Error, LocalizedError, CustomStringConvertible, @unchecked Sendable {
  /// The status, the body, and the response.
  case badStatusCode(Int, Data, HTTPURLResponse)

  /// A description with the status and the URL.
  public var errorDescription: String? {
    let address = parts.response.url?.absoluteString ?? "nil"
    // The parenthesis stays open in the original, too.
    if parts.code == 401 { return "Unauthorized (\(address)" }
    return "Invalid HTTP response (\(parts.code)) for \(address)."
  }

  private var parts: (code: Int, data: Data, response: HTTPURLResponse) {
    switch self {
    case .badStatusCode(let code, let data, let response): (code, data, response)
    }
  }

  /// Decodes the body as a value; nil if that fails.
  public func decodeResponse<T: Decodable>(
    _ t: T.Type, decoder: JSONDecoder = JSONDecoder()
  ) -> T? { try? decoder.decode(t, from: parts.data) }

  /// The body as JSON; nil if it isn't JSON.
  public var jsonDictionary: Any? { try? JSONSerialization.jsonObject(with: parts.data) }

  /// The body as text.
  public var failureReason: String? { String(data: parts.data, encoding: .utf8) }

  /// The status, the body, the URL, and the headers.
  public var description: String {
    var fields: [String: Any] = [
      "Status Code": parts.code, "Body": failureReason ?? "\(parts.data.count) bytes",
      "Headers": parts.response.allHeaderFields,
    ]
    fields["URL"] = parts.response.url
    return "<NSHTTPResponse> \(NSDictionary(dictionary: fields))"
  }
}

extension Promise where T == (data: Data, response: URLResponse) {
  /// Passes on a response whose status is between 200 and 299, or that isn't an HTTP response.
  ///
  /// Other responses reject the result with ``PMKHTTPError/badStatusCode(_:_:_:)``.
  public func validate() -> Promise<T> {
    map { answer in
      if let response = answer.response as? HTTPURLResponse,
        !(200..<300).contains(response.statusCode)
      {
        throw PMKHTTPError.badStatusCode(response.statusCode, answer.data, response)
      }
      return answer
    }
  }
}
