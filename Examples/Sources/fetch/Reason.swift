import Foundation
import Pledge
import PledgeFoundation

/// Why a download failed, in words for the user: the same words only once.
func reason(for error: any Error) -> String {
  switch error {
  case let error as RetryError:
    "\(error.errors.count) attempts failed: \(distinctReasons(error.errors))"
  case let error as AggregateError:
    distinctReasons(error.errors)
  case let error as HTTPStatusError:
    // Without the address: the mirrors' reasons are told together.
    "HTTP status \(error.status)"
  case let error as URLError:
    error.localizedDescription
  default:
    "\(error)"
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
