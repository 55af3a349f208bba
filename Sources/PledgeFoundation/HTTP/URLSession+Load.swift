import Foundation
import Pledge

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// Foundation has `data(from:)`, `upload(for:from:)` and `download(from:)` as asynchronous methods.
// A method of the same name that returns a promise would differ only in its return type, and a
// line's context would determine which of the two it calls. The methods of this module therefore
// have other verbs or labels: `load(_:)`, `upload(_:with:)`, `download(_:to:)`.
//
// On Linux, a task runs in a session that Pledge creates, with the configuration of the user's
// session except for the cache; `CompanionSession` has the reasons. The user's delegate handles
// redirects, whose requests have no credentials if they go to another server, and authentication
// challenges.

extension URLSession {
  /// Loads the contents of `url`.
  ///
  /// ```swift
  /// URLSession.shared.load(url)
  ///   .validate()
  ///   .map { data, _ in try JSONDecoder().decode(User.self, from: data) }
  /// ```
  ///
  /// The request starts inside this call. The promise is rejected with `URLError` if it fails. Any
  /// HTTP status fulfills it, unless you add `validate()`.
  ///
  /// **Cancellation.** Cancelling the promise cancels the request immediately and closes its
  /// connection; the promise is then rejected with `CancellationError`. On Linux, invalidating the
  /// session doesn't cancel the request.
  ///
  /// - Parameters:
  ///   - url: The URL to load.
  ///   - progress: Counts the bytes as they arrive. Its total is negative (indeterminate)
  ///     until the server states the length. Cancelling it cancels the promise.
  ///   - fileID: The file to name in reports; the default is the caller's.
  ///   - line: The line to name in reports; the default is the caller's.
  public func load(
    _ url: URL, progress: Progress? = nil, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Promise<(data: Data, response: URLResponse)> {
    load(URLRequest(url: url), progress: progress, fileID: fileID, line: line)
  }

  /// Performs `request` and loads the body.
  ///
  /// The same as ``load(_:progress:fileID:line:)-(URL,_,_,_)``, for a request. On Linux, a redirect to
  /// another scheme, host, or port doesn't receive the request's `Authorization` and `Cookie`; on other
  /// systems, Foundation decides. A redirect that must send the request's `httpBodyStream` again asks
  /// the session's delegate for a new stream; if there is none, the promise is rejected with
  /// `URLError.requestBodyStreamExhausted`.
  public func load(
    _ request: URLRequest, progress: Progress? = nil, fileID: StaticString = #fileID,
    line: UInt = #line
  ) -> Promise<(data: Data, response: URLResponse)> {
    Transfer(request, progress: progress).promise(in: self, fileID: fileID, line: line)
  }

  /// Sends `data` as the body of `request`, whose own body is ignored, and loads the response.
  ///
  /// The request starts, settles the promise, and is cancelled in the same way as that of
  /// ``load(_:progress:fileID:line:)-(URL,_,_,_)``.
  ///
  /// - Parameters:
  ///   - data: The body.
  ///   - request: The request. If its method is `GET`, which can't have a body, it is sent with `POST`.
  ///   - progress: Counts the bytes as they are sent. Cancelling it cancels the promise.
  ///   - fileID: The file to name in reports; the default is the caller's.
  ///   - line: The line to name in reports; the default is the caller's.
  public func upload(
    _ data: Data, with request: URLRequest, progress: Progress? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Promise<(data: Data, response: URLResponse)> {
    Transfer(request, sending: .data(data), progress: progress)
      .promise(in: self, fileID: fileID, line: line)
  }

  /// Sends the file `file`, which is read as it is sent, as the body of `request`.
  ///
  /// The same as ``upload(_:with:progress:fileID:line:)``, for a file. If it can't be read, or becomes
  /// shorter while it is sent, the promise is rejected with `URLError`. A folder, a device, or a pipe
  /// isn't sent: the promise is rejected with `PromiseError.invalidArgument`.
  public func upload(
    fileAt file: URL, with request: URLRequest, progress: Progress? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Promise<(data: Data, response: URLResponse)> {
    do {
      _ = try file.attributesOfRegularFile("An upload can't send")
    } catch {
      return .rejected(error, fileID: fileID, line: line)
    }
    return Transfer(request, sending: .file(file), progress: progress)
      .promise(in: self, fileID: fileID, line: line)
  }
}
