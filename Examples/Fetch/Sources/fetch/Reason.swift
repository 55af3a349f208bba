import FetchEngine
import FetchSupport
import Foundation
import Pledge
import PledgeFoundation

/// Returns a message that explains why a download failed, without repeated reasons.
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
    // The message may quote the server.
    "\(error)".printable
  }
}

private func place(of url: URL?) -> String {
  guard let url else { return "the server" }
  let port = url.port.map { ":\($0)" } ?? ""
  return "\(url.host() ?? "")\(port)\(url.path())"
}

/// Returns an explanation of the status for the user.
private func advice(for status: Int) -> String {
  switch status {
  case 401: ", a user name and a password are required (see --netrc and --header),"
  case 403: ", access is denied,"
  case 404: ", the file doesn't exist,"
  case 407: ", the proxy requires a user name and a password (see --proxy),"
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
