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
    "HTTP status \(error.status) from \(place(of: error.url))"
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

private func distinctReasons(_ errors: [any Error]) -> String {
  var reasons: [String] = []
  for error in errors {
    let reason = reason(for: error)
    if !reasons.contains(reason) { reasons.append(reason) }
  }
  return reasons.joined(separator: "; ")
}
