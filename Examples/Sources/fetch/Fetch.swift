import ArgumentParser
import FetchSupport
import Foundation
import Pledge
import PledgeFoundation
import UnreliableServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@main
struct Fetch: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fetch",
    abstract: "Downloads a list of files.",
    discussion: """
      Each argument, or line of a list, names one file: an address, further addresses (mirrors)
      that serve the same file, and the options sha256=HEX and out=NAME.

        fetch https://example.org/a.iso
        fetch "https://a.example/x.iso https://b.example/x.iso sha256=9f86…"
        fetch --list downloads.txt --output ~/Downloads
        generate-list | fetch --list -

      A file that is there already and has the right checksum is not downloaded again.

      Without arguments it demonstrates itself: a server on this machine serves generated files \
      and misbehaves on purpose (slow, busy, cut off, wrong bytes); fetch downloads them all and \
      proves by checksum that nothing was lost.

      Exit status: 0 if all files are there, 1 if some are missing, 64 for bad usage, 130 if \
      interrupted.
      """)

  @Argument(help: "What to download: an address, or a line as in a list.")
  var downloads: [String] = []

  @Option(help: "A file with one download a line; - is standard input.")
  var list: String?

  @Option(name: .shortAndLong, help: "The folder for the files; made if it is not there.")
  var output: String?

  @Option(name: .shortAndLong, help: "How many files to download at a time.")
  var concurrency = 8

  @Option(help: "How often to try again after a failed attempt.")
  var retries = 6

  @Option(help: "How many seconds one attempt may take.")
  var timeout: Double = 60

  @Option(help: "How many seconds everything may take.")
  var deadline: Double?

  @Option(help: "How many files the demonstration serves.")
  var count = 200

  @Option(help: "The seed of the demonstration's files and misbehavior.")
  var seed: UInt64 = 1

  @Option(help: "A file for a trace of all promises: .json for Perfetto, .html for a browser.")
  var trace: String?

  @Flag(name: .shortAndLong, help: "Show no progress.")
  var quiet = false

  func validate() throws {
    guard concurrency >= 1 else {
      throw ValidationError("--concurrency must be at least 1, not \(concurrency).")
    }
    guard retries >= 0 else {
      throw ValidationError("--retries must not be negative; it is \(retries).")
    }
    guard timeout > 0, timeout.isFinite else {
      throw ValidationError("--timeout must be a positive number of seconds, not \(timeout).")
    }
    if let deadline, !(deadline > 0 && deadline.isFinite) {
      throw ValidationError("--deadline must be a positive number of seconds, not \(deadline).")
    }
    guard (1...100_000).contains(count) else {
      throw ValidationError("--count must be from 1 to 100000, not \(count).")
    }
    try validateTrace()
  }

  func run() async throws {
    try await tracing { try await downloadAll() }
  }

  private func downloadAll() async throws {
    if downloads.isEmpty, list == nil {
      try await Demonstration(fetch: self).run()
    } else {
      let requests = try requestedDownloads()
      let folder = URL(filePath: output ?? ".", directoryHint: .isDirectory)
      let outcomes = try await download(requests, to: folder, byteCount: nil)
      try report(outcomes)
    }
  }

  /// Downloads `requests` to `folder`; Ctrl-C cancels everything and exits with status 130.
  func download(
    _ requests: [DownloadRequest], to folder: URL, byteCount: Int?
  ) async throws -> (outcomes: [Outcome], elapsed: Duration) {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let files = zip(FileNames.names(for: requests), requests).map { name, request in
      Download(name: name, mirrors: request.mirrors, checksum: request.checksum)
    }
    // A file beyond the limit of the shell or the disk is an error to report, not a reason to die.
    signal(SIGXFSZ, SIG_IGN)
    let console = Console(fileCount: files.count, byteCount: byteCount, isQuiet: quiet)
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = concurrency * 2
    let session = URLSession(configuration: configuration)
    let parts = PartialFiles(in: folder)
    // What was broken off may still be under way: nothing partial is left behind by it.
    defer { parts.close() }
    let downloader = Downloader(
      parts: parts, concurrency: concurrency, policy: policy,
      attemptTimeout: .seconds(timeout), headStart: .milliseconds(300), session: session,
      console: console)

    var work = downloader.downloadAll(files).finally { session.finishTasksAndInvalidate() }
    if let deadline { work = work.timeout(after: .seconds(deadline)) }
    let interruption = Interruption { [work] in work.cancel() }
    defer { interruption.stop() }

    do {
      let outcomes = try await work.value
      console.finish()
      return (outcomes, console.elapsed)
    } catch is CancellationError where interruption.happened {
      parts.close()
      console.say("fetch: interrupted; no partial file was left behind")
      throw ExitCode(130)
    } catch let error as TimeoutError {
      console.say("fetch: not done within --deadline: \(error)")
      throw ExitCode(1)
    }
  }

  private var policy: RetryPolicy {
    var policy = RetryPolicy.exponential(
      attempts: retries + 1, from: .milliseconds(100), maximum: .seconds(5)
    ).withJitter().honoringRetryAfter()
    // A full disk, or a folder that may not be written to, stays so.
    policy.isRetryable = { error in
      let errors = (error as? AggregateError)?.errors ?? [error]
      // A locked file is another matter: an attempt that took too long may be about to let go of it.
      return !errors.contains { ($0 as? FileFailure).map { $0.operation != .lock } ?? false }
    }
    return policy
  }

  private func requestedDownloads() throws -> [DownloadRequest] {
    do {
      return try parsedDownloads()
    } catch let error as DownloadListError {
      throw ValidationError(error.description)
    }
  }

  private func parsedDownloads() throws -> [DownloadRequest] {
    var requests = try DownloadList.parse(arguments: downloads)
    if let list {
      let data =
        list == "-"
        ? FileHandle.standardInput.readDataToEndOfFile()
        : try Data(contentsOf: URL(filePath: list))
      requests += try DownloadList.parse(
        String(decoding: data, as: UTF8.self), source: list == "-" ? "standard input" : list)
    }
    guard !requests.isEmpty else { throw ValidationError("The list holds no download.") }
    return requests
  }

  /// Prints the summary; throws the exit status if files are missing.
  func report(_ result: (outcomes: [Outcome], elapsed: Duration)) throws {
    let rows = result.outcomes.map(\.row)
    print(SummaryTable.render(rows, elapsed: result.elapsed, width: Terminal.width(STDOUT_FILENO)))
    if rows.contains(where: { $0.status != .done }) { throw ExitCode(1) }
  }
}

extension Outcome {
  var row: SummaryRow {
    switch self {
    case .saved(let saved):
      SummaryRow(
        name: saved.file.name, size: saved.byteCount, time: saved.time, tries: saved.attempts,
        mirror: saved.mirror.flatMap { mirror in
          mirror.port.map { "\(mirror.host() ?? ""):\($0)" } ?? mirror.host()
        },
        status: .done)
    case .failed(let file, let error):
      SummaryRow(
        name: file.name, size: nil, time: .zero,
        tries: (error as? RetryError)?.errors.count ?? 1, mirror: nil,
        status: .failed(reason(for: (error as? RetryError)?.last ?? error)))
    }
  }
}
