import CoreFoundation
import Foundation
import PromiseKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// The task is made and started inside the call, and cannot be cancelled: there is no handle to it.
// The promise is resolved on the session's delegate queue.

extension URLSession {
  /// Loads what `convertible` asks for; gives the body and the response.
  public func dataTask(
    _: PMKNamespacer, with convertible: URLRequestConvertible
  ) -> Promise<(data: Data, response: URLResponse)> {
    Promise { dataTask(with: convertible.pmkRequest, completionHandler: completion($0)).resume() }
  }

  /// Sends `data` along with the request; gives the body of the answer and the response.
  public func uploadTask(
    _: PMKNamespacer, with convertible: URLRequestConvertible, from data: Data
  ) -> Promise<(data: Data, response: URLResponse)> {
    Promise {
      uploadTask(with: convertible.pmkRequest, from: data, completionHandler: completion($0))
        .resume()
    }
  }

  /// Sends the contents of `file` along with the request; gives the body of the answer and the
  /// response.
  public func uploadTask(
    _: PMKNamespacer, with convertible: URLRequestConvertible, fromFile file: URL
  ) -> Promise<(data: Data, response: URLResponse)> {
    Promise {
      uploadTask(with: convertible.pmkRequest, fromFile: file, completionHandler: completion($0))
        .resume()
    }
  }

  /// Loads what `convertible` asks for into a file, which is moved to `saveLocation`.
  ///
  /// A file that already exists is not replaced: the promise is then rejected.
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

/// What a session does with an answer: a body and a response win over an error.
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

/// What can be asked of a session: a `URLRequest` or a `URL`.
public protocol URLRequestConvertible {
  /// The request.
  var pmkRequest: URLRequest { get }
}

extension URLRequest: URLRequestConvertible {
  /// This request.
  public var pmkRequest: URLRequest { self }
}

extension URL: URLRequestConvertible {
  /// A request for what is at this address.
  public var pmkRequest: URLRequest { URLRequest(url: self) }
}

extension String {
  /// The text of a body, in the encoding that the response names, or in UTF-8 if it names none that
  /// is known.
  public init?(data: Data, urlResponse: URLResponse) {
    let encoding = urlResponse.textEncodingName.flatMap { String.Encoding(ianaName: $0) }
    self.init(data: data, encoding: encoding ?? .utf8)
  }
}

extension String.Encoding {
  /// The encoding with this name in the registry of the IANA, or nil if it is not known.
  fileprivate init?(ianaName: String) {
    let name = CFStringCreateWithCString(nil, ianaName, CFStringBuiltInEncodings.UTF8.rawValue)
    let number = CFStringConvertIANACharSetNameToEncoding(name)
    guard number != kCFStringEncodingInvalidId else { return nil }
    self.init(rawValue: UInt(CFStringConvertEncodingToNSStringEncoding(number)))
  }
}
