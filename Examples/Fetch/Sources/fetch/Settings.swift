import ArgumentParser
import FetchEngine
import FetchSupport
import Foundation
import Pledge
import PledgeFoundation

// Converts command-line options to settings.

extension Fetch {
  /// Returns the policies of the downloader.
  func options() throws -> Options {
    var options = Options()
    options.concurrency = concurrency
    options.split = split
    options.connectionsPerHost = perHost
    options.stall = .seconds(timeout)
    options.policy.attempts = retries + 1
    options.settings = try requestSettings()
    return options
  }

  /// Returns the header fields and credentials to send with requests.
  func requestSettings() throws -> RequestSettings {
    var settings = RequestSettings()
    for field in header {
      guard let colon = field.firstIndex(of: ":"), colon != field.startIndex,
        !field[..<colon].utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7F }),
        !field.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
      else {
        throw ValidationError("--header needs \"Name: value\", not \"\(field.printable)\".")
      }
      guard !["range", "if-range"].contains(field[..<colon].lowercased()) else {
        throw ValidationError(
          "--header can't set \(field[..<colon]), because fetch requests ranges itself.")
      }
      let value = field[field.index(after: colon)...]
      settings.headers[String(field[..<colon])] = value.trimmingCharacters(in: .whitespaces)
    }
    let home = ProcessInfo.processInfo.environment["HOME"] ?? NSHomeDirectory()
    if let path = netrcFile ?? (netrc ? home + "/.netrc" : nil) {
      let netrc = Netrc(try read(path))
      settings.credentials = { netrc.credentials(for: $0, login: $1, usingDefault: $2) }
    }
    return settings
  }

  /// Returns the downloads in a list.
  func downloads(in list: String) throws -> [Download] {
    let requests = try DownloadList.parse(list)
    return zip(FileNames.names(for: requests), requests).map { name, request in
      Download(name: name, mirrors: request.mirrors, checksum: request.checksum)
    }
  }

  /// Returns the downloads in the arguments and in the list.
  func requestedDownloads() throws -> [Download] {
    do {
      var requests = try DownloadList.parse(arguments: downloads)
      if let list {
        let (text, source) = (try read(list), list == "-" ? "standard input" : list)
        requests +=
          Metalink.isLikely(text)
          ? try Metalink.parse(text, source: source) : try DownloadList.parse(text, source: source)
      }
      guard !requests.isEmpty else { throw ValidationError("The list is empty.") }
      try DownloadList.requireDistinctNames(requests)
      if let checksums { try addChecksums(from: checksums, to: &requests) }
      warn(about: requests)
      return zip(FileNames.names(for: requests), requests).map { name, request in
        Download(
          name: name, mirrors: request.mirrors, checksum: request.checksum, size: request.size)
      }
    } catch let error as DownloadListError {
      throw ValidationError(error.description.printable)
    }
  }

  /// Adds the checksums in a list; each file must have one.
  private func addChecksums(from path: String, to requests: inout [DownloadRequest]) throws {
    let list = ChecksumList(try read(path))
    var missing: [String] = []
    for index in requests.indices where requests[index].checksum == nil {
      requests[index].checksum = list.checksum(for: requests[index])
      if requests[index].checksum == nil { missing.append(requests[index].remoteName) }
    }
    guard !missing.isEmpty else { return }
    let names = missing.prefix(5).joined(separator: ", ") + (missing.count > 5 ? ", …" : "")
    throw ValidationError(
      "\(path) contains no checksum for \(names), or several different ones.".printable)
  }

  private func warn(about requests: [DownloadRequest]) {
    guard !quiet else { return }
    let weak = requests.first { $0.checksum?.algorithm.isWeak == true }?.checksum?.algorithm
    if let weak {
      StandardStreams.writeError(
        "fetch: \(weak.rawValue) detects accidental changes only; use sha256 if possible\n")
    }
    for request in requests where request.checksum == nil {
      guard let algorithm = request.unsupportedChecksum else { continue }
      StandardStreams.writeError(
        "fetch: \(request.name ?? "a file"): \(algorithm) isn't supported, so the file isn't verified\n"
          .printable)
    }
  }

  /// Returns the contents of a text file, or of standard input for `-`.
  func read(_ path: String) throws -> String {
    do throws(FileFailure) {
      return try StandardStreams.read(path)
    } catch {
      throw ValidationError("\(error).")
    }
  }
}
