import FetchSupport
import Foundation
import Pledge
import PledgeFoundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Downloads files: mirrors raced, attempts repeated, checksums verified, nothing half-written.
struct Downloader: Sendable {
  let parts: PartialFiles
  let concurrency: Int
  let policy: RetryPolicy
  let attemptTimeout: Duration
  /// How long a further mirror waits for those before it.
  let headStart: Duration
  let session: URLSession
  let console: Console

  /// Downloads all files, at most `concurrency` at a time, and never fails as a whole.
  func downloadAll(_ files: [Download]) -> Promise<[Outcome]> {
    Promise.all(files, concurrently: concurrency) { file in
      download(file)
        .map { Outcome.saved($0) }
        .recover { error in
          if error is CancellationError { throw error }
          return .value(Outcome.failed(file, error))
        }
        .get { outcome in console.finished(outcome) }
    }
  }

  /// Downloads one file, unless a file of that name with the right checksum is there already.
  func download(_ file: Download) -> Promise<Saved> {
    Promise(on: .global) { saved(file) }.then { saved in
      if let saved { return .value(saved) }
      return downloadAnew(file).finally { parts.discard(file.name) }
    }
    .get { _ in removeLeftovers(of: file) }
  }

  /// Removes the partial files that a run left behind which was killed.
  private func removeLeftovers(of file: Download) {
    for copy in 1...max(1, file.mirrors.count) {
      let name = PartialFile.partialName(for: file.name, copy: copy)
      guard
        FileManager.default.fileExists(
          atPath: parts.directory.appending(component: name).path(percentEncoded: false))
      else { continue }
      // One that is in use is locked, and stays.
      (try? PartialFile(for: file.name, in: parts.directory, copy: copy))?.discard()
    }
  }

  /// The file as an earlier run has left it, if it is whole.
  private func saved(_ file: Download) -> Saved? {
    let url = parts.directory.appending(component: file.name, directoryHint: .notDirectory)
    // What cannot be read is not there; the download tells why it cannot be written either.
    guard let expected = file.checksum, let actual = try? SHA256Checksum(ofFileAt: url),
      actual == expected, let size = try? url.resourceValues(forKeys: [.fileSizeKey]).fileSize
    else { return nil }
    return Saved(file: file, mirror: nil, byteCount: size, attempts: 0, time: .zero)
  }

  /// Downloads one file; tries again as the policy says.
  private func downloadAnew(_ file: Download) -> Promise<Saved> {
    let start = ContinuousClock.now
    let attempts = Counter()
    return Promise.retry(policy) {
      attempts.increment()
      return fromAnyMirror(file)
    }
    .map { copy in
      try copy.part.commit()
      return Saved(
        file: file, mirror: copy.mirror, byteCount: copy.part.byteCount,
        attempts: attempts.value, time: .now - start)
    }
  }

  /// Asks the mirrors, each a little later than the one before; the first good copy wins and the
  /// others are cancelled.
  func fromAnyMirror(_ file: Download) -> Promise<Copy> {
    Promise.any(
      file.mirrors.enumerated().map { index, mirror in
        Promise.after(headStart * index)
          .then { _ in copy(of: file, from: mirror, number: index + 1) }
          .timeout(after: attemptTimeout)
      })
  }

  /// Streams one copy to a partial file and verifies it.
  func copy(of file: Download, from mirror: URL, number: Int) -> Promise<Copy> {
    Promise(catching: { try parts.open(file.name, copy: number) })
      .then { part in
        session.stream(mirror) { data in
          try part.append(data)
          console.received(data.count)
        }
        .map { _ in
          if let expected = file.checksum {
            let actual = try SHA256Checksum(ofFileAt: part.url)
            guard actual == expected else {
              throw ChecksumMismatch(expected: expected, actual: actual)
            }
          }
          return Copy(part: part, mirror: mirror)
        }
        // In place: the next attempt takes the same name.
        .tap(on: .immediate) { result in
          if case .failure = result { part.discard() }
        }
      }
  }
}

/// One file to download.
struct Download: Sendable {
  let name: String
  let mirrors: [URL]
  let checksum: SHA256Checksum?
}

/// A verified copy under its partial name.
struct Copy: Sendable {
  let part: PartialFile
  let mirror: URL
}

/// A file that is there, under its own name.
struct Saved: Sendable {
  let file: Download
  /// Who sent it; nil if it was there before.
  let mirror: URL?
  let byteCount: Int
  let attempts: Int
  let time: Duration
}

/// What became of a download.
enum Outcome: Sendable {
  case saved(Saved)
  case failed(Download, any Error)
}

/// The bytes that arrived are not those that were promised.
struct ChecksumMismatch: Error, CustomStringConvertible {
  let expected: SHA256Checksum
  let actual: SHA256Checksum

  var description: String {
    "wrong checksum \(actual.hex.prefix(12))…, expected \(expected.hex.prefix(12))…"
  }
}
