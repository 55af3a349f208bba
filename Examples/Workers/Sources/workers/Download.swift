import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import PledgeGRPC

/// The method that coordinator and workers share: a worker downloads a file and sends it in parts.
enum Download {
  struct Order: Codable, Sendable {
    let url: URL
  }

  static let method = RemoteMethod<Order, [UInt8]>(
    "pledge.example.Downloads", "Fetch", request: .json, response: .bytes)
}

/// A host and a port, as in `10.0.0.7:4000`.
struct Address: Hashable, Sendable, CustomStringConvertible {
  let host: String
  let port: Int

  init?(_ text: some StringProtocol) {
    guard let colon = text.lastIndex(of: ":"), colon > text.startIndex,
      let port = Int(text[text.index(after: colon)...]), (0...65535).contains(port)
    else { return nil }
    host = String(text[..<colon])
    self.port = port
  }

  var description: String { "\(host):\(port)" }
}
