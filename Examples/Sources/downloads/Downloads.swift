import Foundation
import Pledge
import PledgeDiagnostics
import PledgeFoundation
import UnreliableMirror

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Downloads files from unreliable mirrors, and verifies each against a list of checksums.
///
/// Its handlers are written on the main actor, and run there, so the state needs no lock.
@MainActor
final class Downloads {
  /// A line of the list of checksums.
  struct File: Sendable {
    let checksum: String
    let name: String
  }

  struct WrongChecksum: Error, CustomStringConvertible {
    let description = "wrong checksum"
  }

  /// A copy of a file that is being downloaded.
  struct Transfer {
    let name: String
    let mirror: Int
    let progress = Progress(totalUnitCount: -1)
  }

  let mirrors: [URL]
  let folder: URL
  /// When to ask all mirrors again; a busy server says how long to wait.
  var policy = RetryPolicy.exponential(attempts: 6, from: .milliseconds(100)).withJitter()
    .honoringRetryAfter()
    .retrying { error in error is WrongChecksum || RetryPolicy.isTransient(error) }

  private(set) var files: [File] = []
  private(set) var complete: [String] = []
  private(set) var transfers: [Int: Transfer] = [:]
  /// How the transfers ended, and how many ended so.
  private(set) var ends: [String: Int] = [:]

  private let session = URLSession(configuration: .ephemeral)
  private let copies: URL
  private let report: (_ line: String) -> Void
  private var requests: [String: Int] = [:]

  init(from mirrors: [URL], to folder: URL, report: @escaping (_ line: String) -> Void) throws {
    self.mirrors = mirrors
    self.folder = folder
    self.report = report
    copies = folder.appending(path: ".copies")
    try FileManager.default.createDirectory(at: copies, withIntermediateDirectories: true)
  }

  /// Downloads all files, four at a time; returns a promise for the names of those that failed.
  func run() -> Promise<[String]> {
    list()
      .then { files in
        self.files = files
        return Promise.all(files, concurrently: 4) { file in self.save(file) }
      }
      .map { failed in failed.compactMap(\.self) }
      .finally { try? FileManager.default.removeItem(at: self.copies) }
  }

  /// The list of checksums, from the first mirror that sends it.
  private func list() -> Promise<[File]> {
    Promise.retry(policy) {
      Promise.any(
        self.mirrors.map { self.session.load($0.appending(path: "CHECKSUMS")).validate() })
    }
    .map { data, _ in
      String(decoding: data, as: UTF8.self).matches(of: /([0-9a-f]+) [ *]([^\/\n]+)/).map {
        File(checksum: String($0.1), name: String($0.2))
      }
    }
    .validate { files in !files.isEmpty }
    .named("CHECKSUMS")
  }

  /// Downloads a file; returns nil, or its name if it failed, which doesn't affect the others.
  private func save(_ file: File) -> Guarantee<String?> {
    Promise.retry(policy) { self.fastestCopy(of: file) }
      .map { copy -> String? in
        try self.keep(copy, of: file)
        return nil
      }
      .replaceError { error in
        self.report("\(file.name): failed for good: \(error)")
        return file.name
      }
      .named(file.name)
  }

  /// Asks one mirror, and the next one when the first has failed, or is slow.
  ///
  /// The first correct copy cancels the others: their connections are closed.
  private func fastestCopy(of file: File) -> Promise<URL> {
    Promise.hedged(attempts: mirrors.count, delay: .milliseconds(400)) { self.copy(of: file) }
      .tap { result in
        if case .failure = result { self.report("\(file.name): no mirror sent a correct copy") }
      }
  }

  /// Downloads a file from its next mirror, and verifies the checksum.
  private func copy(of file: File) -> Promise<URL> {
    let mirror = requests[file.name, default: 0] % mirrors.count
    requests[file.name, default: 0] += 1
    let number = requests.values.reduce(0, +)
    let transfer = Transfer(name: file.name, mirror: mirror + 1)
    transfers[number] = transfer
    let source = mirrors[mirror].appending(path: file.name)
    let destination = copies.appending(path: "\(number)")
    return session.download(source, to: destination, progress: transfer.progress)
      .timeout(after: .seconds(10))
      .map(on: .global) { copy, _ in
        guard checksum(of: try Data(contentsOf: copy)) == file.checksum else {
          throw WrongChecksum()
        }
        return copy
      }
      .tap { result in self.end(number, result) }
  }

  private func end(_ number: Int, _ result: Result<URL, any Error>) {
    guard let transfer = transfers.removeValue(forKey: number) else { return }
    let end =
      switch result {
      case .success: "checksum correct"
      case .failure(is CancellationError): "too slow, cancelled"
      case .failure(let error as HTTPStatusError): "status \(error.status)"
      case .failure(is URLError): "connection broken"
      case .failure(let error): "\(error)"
      }
    ends[end, default: 0] += 1
    report("\(transfer.name) from mirror \(transfer.mirror): \(end)")
  }

  /// Moves a correct copy of a file to its place.
  private func keep(_ copy: URL, of file: File) throws {
    let place = folder.appending(path: file.name)
    try? FileManager.default.removeItem(at: place)
    try FileManager.default.moveItem(at: copy, to: place)
    complete.append(file.name)
  }
}
