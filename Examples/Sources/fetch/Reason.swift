import FetchEngine
import FetchSupport
import Foundation
import Pledge
import PledgeFoundation

/// Why a download failed, in words for the user: the same words only once.
func reason(for error: any Error) -> String {
  switch error {
  case let error as GivenUp:
    error.errors.count == 1
      ? distinctReasons(error.errors)
      : "\(error.errors.count) attempts failed: \(distinctReasons(error.errors))"
  case let error as AggregateError:
    distinctReasons(error.errors)
  case let error as HTTPStatusError:
    "HTTP status \(error.status)\(advice(for: error.status)) from \(place(of: error.url))"
  default:
    // It may quote a server.
    "\(error)".printable
  }
}

private func place(of url: URL?) -> String {
  guard let url else { return "the server" }
  let port = url.port.map { ":\($0)" } ?? ""
  return "\(url.host() ?? "")\(port)\(url.path())"
}

/// What the status means to a user who wants a file.
private func advice(for status: Int) -> String {
  switch status {
  case 401: ", a user and a password are needed (see --netrc and --header),"
  case 403: ", access is denied,"
  case 404: ", there is no such file,"
  case 407: ", the proxy needs a user and a password (see --proxy),"
  case 410: ", the file was removed,"
  case 429: ", too many requests (see --concurrency),"
  default: ""
  }
}

private func distinctReasons(_ errors: [any Error]) -> String {
  var reasons: [String] = []
  for error in errors {
    let reason = reason(for: error)
    if !reasons.contains(reason) { reasons.append(reason) }
  }
  return reasons.joined(separator: "; ")
}
