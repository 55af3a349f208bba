import Foundation
import PromiseKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// `@unchecked Sendable`: a response is not changed once it was received.
/// The error of an answer that does not say that all went well.
public enum PMKHTTPError: Error, LocalizedError, CustomStringConvertible, @unchecked Sendable {
  /// The status, the body and the response.
  case badStatusCode(Int, Data, HTTPURLResponse)

  /// Names the status and the address.
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

  /// The value that the body encodes, or nil if it does not.
  public func decodeResponse<T: Decodable>(
    _ t: T.Type, decoder: JSONDecoder = JSONDecoder()
  ) -> T? {
    switch self {
    case .badStatusCode(_, let data, _): try? decoder.decode(t, from: data)
    }
  }

  /// The body as JSON, or nil if it is none.
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

  /// The status, the body, the address and the headers.
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
  /// Passes on an answer whose status is between 200 and 299, or that is not one of HTTP.
  ///
  /// Others reject the result with ``PMKHTTPError/badStatusCode(_:_:_:)``.
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
