import ArgumentParser
import Foundation
import Pledge
import PledgeFoundation

// Converts command-line options to settings.

extension Fetch {
  struct Target {
    /// The folder; nil for standard output.
    var folder: URL?
    /// The name of a single file, if it is specified.
    var name: String?
  }

  var target: Target {
    let directory = URL(filePath: directory, directoryHint: .isDirectory)
    guard let output else { return Target(folder: directory) }
    if output == "-" { return Target(name: "standard output") }
    let file = URL(filePath: output, directoryHint: .notDirectory, relativeTo: directory)
      .absoluteURL
    return Target(folder: file.deletingLastPathComponent(), name: file.lastPathComponent)
  }

  /// The file with the certificates to trust; nil for those of the system.
  var trustedCertificates: String? {
    certificates
      ?? ProcessInfo.processInfo.environment["SSL_CERT_FILE"].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Returns the policies of the downloader.
  func options() throws -> Options {
    // Bytes can be written to standard output in their order only.
    let split = target.folder == nil ? 1 : split
    var options = Options(
      concurrency: concurrency, split: split, connectionsPerHost: perHost, stall: .seconds(timeout),
      settings: try requestSettings())
    options.policy.attempts = retries + 1
    return options
  }

  /// Returns the header fields to send with requests.
  func requestSettings() throws -> RequestSettings {
    var settings = RequestSettings()
    for field in header {
      guard let colon = field.firstIndex(of: ":"), colon != field.startIndex,
        !field[..<colon].utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7F }),
        !field.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
      else { throw ValidationError("--header needs \"Name: value\", not \"\(field.printable)\".") }
      // Ranges are this program's business, and the host is the one whose certificate is checked.
      guard !["host", "range", "if-range"].contains(field[..<colon].lowercased()) else {
        throw ValidationError("--header can't set \(field[..<colon]).")
      }
      let value = field[field.index(after: colon)...]
      settings.headers[String(field[..<colon])] = value.trimmingCharacters(in: .whitespaces)
    }
    return settings
  }

  /// Returns the downloads in the arguments and in the list.
  func requestedDownloads() throws -> [Download] {
    do {
      var requests = try DownloadList.parse(arguments: files)
      if let list {
        let source = list == "-" ? "standard input" : list
        requests += try DownloadList.parse(StandardStreams.read(list), source: source)
      }
      guard !requests.isEmpty else { throw ValidationError("There is no file to download.") }
      try DownloadList.requireDistinctNames(requests)
      var names = FileNames.names(for: requests)
      if output != nil, let name = target.name {
        guard requests.count == 1 else {
          throw ValidationError("--output is for one download; use --directory for several.")
        }
        names = [name]
        try requireFile(target)
      }
      return zip(names, requests).map { name, request in
        Download(name: name, mirrors: request.mirrors, checksum: request.checksum)
      }
    } catch let error as DownloadListError {
      throw ValidationError(error.description.printable)
    } catch let error as FileFailure {
      throw ValidationError("\(error).")
    }
  }

  /// Throws an error if `--output` specifies a folder.
  private func requireFile(_ target: Target) throws {
    guard let folder = target.folder, let name = target.name, let output else { return }
    var status = stat()
    let path = folder.appending(component: name).path(percentEncoded: false)
    guard !output.isEmpty, !output.hasSuffix("/"),
      stat(path, &status) != 0 || status.st_mode & S_IFMT != S_IFDIR
    else { throw ValidationError("--output: \(output) is a folder; use --directory.".printable) }
  }
}
