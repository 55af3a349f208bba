import CoreFoundation
import Foundation
import PromiseKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// The task is created and started inside the call. It can't be cancelled, because the caller
// doesn't receive it. The promise is resolved on the session's delegate queue.

extension URLSession {
  /// Performs the request of `convertible` and returns a promise for the body and the response.
  public func dataTask(
    _: PMKNamespacer, with convertible: URLRequestConvertible
  ) -> Promise<(data: Data, response: URLResponse)> {
    Promise { dataTask(with: convertible.pmkRequest, completionHandler: completion($0)).resume() }
  }

  /// Performs the request with `data` as its body, and returns a promise for the response's body
  /// and the response.
  public func uploadTask(
    _: PMKNamespacer, with convertible: URLRequestConvertible, from data: Data
  ) -> Promise<(data: Data, response: URLResponse)> {
    Promise {
      uploadTask(with: convertible.pmkRequest, from: data, completionHandler: completion($0))
        .resume()
    }
  }

  /// Performs the request with the contents of `file` as its body, and returns a promise for the
  /// response's body and the response.
  public func uploadTask(
    _: PMKNamespacer, with convertible: URLRequestConvertible, fromFile file: URL
  ) -> Promise<(data: Data, response: URLResponse)> {
    Promise {
      uploadTask(with: convertible.pmkRequest, fromFile: file, completionHandler: completion($0))
        .resume()
    }
  }

  /// Downloads the response to `convertible` into a file, which is moved to `saveLocation`.
  ///
  /// An existing file isn't replaced; instead, the promise is rejected.
  public func downloadTask(
    _: PMKNamespacer, with convertible: URLRequestConvertible, to saveLocation: URL
  ) -> Promise<(saveLocation: URL, response: URLResponse)> {
    Promise { seal in
      downloadTask(with: convertible.pmkRequest) { location, response, error in
        if let error {
          seal.reject(error)
        } else if let location, let response {
          do {
            try FileManager.default.moveItem(at: location, to: saveLocation)
            seal.fulfill((saveLocation, response))
          } catch {
            seal.reject(error)
          }
        } else {
          seal.reject(PMKError.invalidCallingConvention)
        }
      }.resume()
    }
  }
}

/// Returns a completion handler for a session; a body with a response takes precedence over an
/// error.
private func completion(
  _ seal: Resolver<(data: Data, response: URLResponse)>
) -> @Sendable (Data?, URLResponse?, (any Error)?) -> Void {
  { data, response, error in
    if let data, let response {
      seal.fulfill((data, response))
    } else if let error {
      seal.reject(error)
    } else {
      seal.reject(PMKError.invalidCallingConvention)
    }
  }
}

/// A type that a session can load: a `URLRequest` or a `URL`.
public protocol URLRequestConvertible {
  /// The request.
  var pmkRequest: URLRequest { get }
}

extension URLRequest: URLRequestConvertible {
  /// This request.
  public var pmkRequest: URLRequest { self }
}

extension URL: URLRequestConvertible {
  /// A request for this URL.
  public var pmkRequest: URLRequest { URLRequest(url: self) }
}

extension String {
  /// Decodes a body with the encoding that the response names, or with UTF-8 if it names no known
  /// encoding.
  public init?(data: Data, urlResponse: URLResponse) {
    let encoding = urlResponse.textEncodingName.flatMap { String.Encoding(ianaName: $0) }
    self.init(data: data, encoding: encoding ?? .utf8)
  }
}

extension String.Encoding {
  /// Creates the encoding with this name in the IANA registry; nil if the name isn't known.
  fileprivate init?(ianaName: String) {
    let name = CFStringCreateWithCString(nil, ianaName, CFStringBuiltInEncodings.UTF8.rawValue)
    let number = CFStringConvertIANACharSetNameToEncoding(name)
    guard number != kCFStringEncodingInvalidId else { return nil }
    self.init(rawValue: UInt(CFStringConvertEncodingToNSStringEncoding(number)))
  }
}
