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
    func address(_ response: HTTPURLResponse) -> String {
      response.url?.absoluteString ?? "nil"
    }
    switch self {
    case .badStatusCode(401, _, let response):
      // The parenthesis stays open in the original, too.
      return "Unauthorized (\(address(response))"
    case .badStatusCode(let code, _, let response):
      return "Invalid HTTP response (\(code)) for \(address(response))."
    }
  }

  /// Decodes the body as a value; nil if that fails.
  public func decodeResponse<T: Decodable>(
    _ t: T.Type, decoder: JSONDecoder = JSONDecoder()
  ) -> T? {
    switch self {
    case .badStatusCode(_, let data, _): try? decoder.decode(t, from: data)
    }
  }

  /// The body as JSON; nil if it isn't JSON.
  public var jsonDictionary: Any? {
    switch self {
    case .badStatusCode(_, let data, _): try? JSONSerialization.jsonObject(with: data)
    }
  }

  /// The body as text.
  public var failureReason: String? {
    switch self {
    case .badStatusCode(_, let data, _): String(data: data, encoding: .utf8)
    }
  }

  /// The status, the body, the URL, and the headers.
  public var description: String {
    switch self {
    case .badStatusCode(let code, let data, let response):
      var parts: [String: Any] = [
        "Status Code": code,
        "Body": String(data: data, encoding: .utf8) ?? "\(data.count) bytes",
        "Headers": response.allHeaderFields,
      ]
      parts["URL"] = response.url
      return "<NSHTTPResponse> \(NSDictionary(dictionary: parts))"
    }
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
