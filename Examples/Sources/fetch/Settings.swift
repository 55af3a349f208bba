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
    options.policy = RetryPolicy.exponential(
      attempts: retries + 1, from: .milliseconds(100), maximum: .seconds(5)
    ).withJitter().honoringRetryAfter()
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
      let value = field[field.index(after: colon)...]
      settings.headers[String(field[..<colon])] = value.trimmingCharacters(in: .whitespaces)
    }
    if let path = netrcFile ?? (netrc ? NSHomeDirectory() + "/.netrc" : nil) {
      let netrc = Netrc(try read(path))
      settings.credentials = { netrc.credentials(for: $0) }
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
      let known = try checksums.map { try ChecksumList.parse(read($0), source: $0) } ?? [:]
      let files = zip(FileNames.names(for: requests), requests).map { name, request in
        Download(
          name: name, mirrors: request.mirrors, checksum: request.checksum ?? known[name])
      }
      warn(about: files)
      return files
    } catch let error as DownloadListError {
      throw ValidationError(error.description.printable)
    }
  }

  private func warn(about files: [Download]) {
    let weak = files.first { $0.checksum?.algorithm.isWeak == true }?.checksum?.algorithm
    guard let weak, !quiet else { return }
    FileHandle.standardError.write(
      Data(
        "fetch: \(weak.rawValue) detects accidental changes only; use sha256 if possible\n".utf8))
  }

  /// Returns the contents of a text file, or of standard input for `-`.
  func read(_ path: String) throws -> String {
    if path == "-" {
      return String(decoding: FileHandle.standardInput.readDataToEndOfFile(), as: UTF8.self)
    }
    // `Data(contentsOf:)` can't read pipes, such as those of <(command).
    guard let file = fopen(path, "re") else {
      throw ValidationError("\(FileFailure(.read, path, errno)).")
    }
    defer { fclose(file) }
    var text: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    repeat {
      let count = fread(&piece, 1, piece.count, file)
      text += piece.prefix(count)
    } while feof(file) == 0 && ferror(file) == 0
    guard ferror(file) == 0 else { throw ValidationError("\(FileFailure(.read, path, errno)).") }
    return String(decoding: text, as: UTF8.self)
  }
}
