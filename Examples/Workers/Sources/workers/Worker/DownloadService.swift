import Foundation
import GRPCCore
import Pledge
import PledgeFoundation
import PledgeGRPC

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The service of a worker: downloads a file and sends it as fast as the coordinator writes it.
struct DownloadService: RegistrableRPCService {
  private static let partSize = 1 << 16

  let folder: URL

  func registerMethods(with router: inout RPCRouter<some ServerTransport>) {
    router.registerStream(
      Download.method, writing: { order, parts, _ in send(order.url, to: parts) })
  }

  /// If the coordinator cancels the call, this promise is cancelled, and the download with it.
  private func send(_ url: URL, to parts: RPCWriter<[UInt8]>) -> Promise<Void> {
    let copy = folder.appendingPathComponent(UUID().uuidString)
    return URLSession.shared.download(url, to: copy)
      .mapError { Self.error(downloading: url, $0) }
      .then(on: .global) { copy, _ in
        try Self.send(FileHandle(forReadingFrom: copy), to: parts)
      }
      .finally(on: .global) { try? FileManager.default.removeItem(at: copy) }
  }

  private static func send(_ file: FileHandle, to parts: RPCWriter<[UInt8]>) throws -> Promise<Void>
  {
    guard let part = try file.read(upToCount: partSize), !part.isEmpty else { return Promise() }
    return parts.send([UInt8](part)).then(on: .global) { try send(file, to: parts) }
  }

  /// The error for the coordinator: its code determines whether another attempt makes sense.
  private static func error(downloading url: URL, _ error: any Error) -> any Error {
    switch error {
    case let error as HTTPStatusError where (400..<500).contains(error.status):
      RPCError(code: .failedPrecondition, message: "\(error)")
    case is CancellationError: error
    default: RPCError(code: .aborted, message: "\(url) can't be downloaded: \(error)")
    }
  }
}
