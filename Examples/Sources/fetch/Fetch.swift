import ArgumentParser
import FetchEngine
import FetchSupport
import Foundation
import Pledge

@main
struct Fetch: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fetch",
    abstract: "Downloads a list of files.",
    discussion: """
      Each argument, or line of a list, names one file: an address, further addresses (mirrors)
      that serve the same file, and the options out=NAME and sha256=HEX (or sha1=, md5=).

        fetch https://example.org/a.iso
        fetch "https://a.example/x.iso https://b.example/x.iso sha256=9f86…"
        fetch --list downloads.txt --output ~/Downloads
        generate-list | fetch --list -

      Bytes go to NAME.part, which becomes NAME when the file is whole. If the connection breaks, \
      fetch goes on where it stopped; if fetch is ended, or killed, the next run does. A file that is \
      there already and has the right checksum is not downloaded again; one without a checksum is \
      replaced, unless --no-clobber or --continue says otherwise.

      Without arguments it demonstrates itself: a server on this machine serves generated files \
      and misbehaves on purpose (slow, busy, cut off, wrong bytes); fetch downloads them all and \
      proves by checksum that nothing was lost.

      Exit status: 0 if all files are there; 1 if some are missing, also because of --deadline; \
      64 for bad usage; 129, 130 or 143 if SIGHUP, SIGINT (Ctrl-C) or SIGTERM ended it.
      """,
    // `Release/set-version` changes it along with the file VERSION.
    version: "0.9.0")

  @Argument(help: "What to download: an address, or a line as in a list.")
  var downloads: [String] = []

  @Option(help: "A file with one download a line, or a Metalink file; - is standard input.")
  var list: String?

  @Option(help: "A file with checksums, as sha256sum writes it; sha1sum and md5sum do, too.")
  var checksums: String?

  @Option(name: .shortAndLong, help: "The folder for the files; made if it is not there.")
  var output: String?

  @Flag(
    name: .customLong("continue"), help: "Take a file that is there for the start of its download.")
  var continues = false

  @Flag(help: "Leave files alone that are there.")
  var noClobber = false

  @Flag(help: "Have the disk store each file before it gets its name; slow with many files.")
  var sync = false

  @Option(name: .shortAndLong, help: "How many files to download at a time.")
  var concurrency = 8

  @Option(name: .shortAndLong, help: "How many connections a large file may have.")
  var split = 1

  @Option(help: "How many connections each host may have, all files together; any number.")
  var perHost: Int?

  @Option(help: "How often to try again after attempts that got no further.")
  var retries = 6

  @Option(help: "How many seconds nothing may arrive before a connection is given up.")
  var timeout: Double = 30

  @Option(help: "How many seconds making a connection may take.")
  var connectTimeout: Double = 10

  @Option(help: "How many seconds everything may take.")
  var deadline: Double?

  @Option(name: [.customShort("H"), .long], help: "A header field to send, as in \"Name: value\".")
  var header: [String] = []

  @Flag(help: "Take users and passwords from ~/.netrc.")
  var netrc = false

  @Option(help: "Take users and passwords from this file.")
  var netrcFile: String?

  @Option(help: "A proxy: http://HOST:PORT or socks5://HOST:PORT; else http_proxy and so on count.")
  var proxy: String?

  @Option(
    name: .customLong("cacert"),
    help: "A PEM file with the certificates to trust, instead of those of the system.")
  var certificates: String?

  @Option(help: "How many files the demonstration serves.")
  var count = 200

  @Option(help: "The seed of the demonstration's files and misbehavior.")
  var seed: UInt64 = 1

  @Option(help: "A file for a trace of all promises: .json for Perfetto, .html for a browser.")
  var trace: String?

  @Flag(help: "Print the outcome of each file as JSON.")
  var json = false

  @Flag(help: "Show each file in the summary, however many there are.")
  var allRows = false

  @Flag(name: .shortAndLong, help: "Show no progress.")
  var quiet = false

  func validate() throws {
    func require(_ condition: Bool, _ message: String) throws {
      guard condition else { throw ValidationError(message) }
    }
    try require(
      (1...100_000).contains(concurrency),
      "--concurrency must be from 1 to 100000, not \(concurrency).")
    try require((1...64).contains(split), "--split must be from 1 to 64, not \(split).")
    try require(
      (0...1_000_000).contains(retries), "--retries must be from 0 to 1000000, not \(retries).")
    for (name, value) in [("timeout", timeout), ("connect-timeout", connectTimeout)] {
      try require(
        value > 0 && value < 1e9, "--\(name) must be a positive number of seconds, not \(value).")
    }
    if let deadline {
      try require(
        deadline > 0 && deadline < 1e9,
        "--deadline must be a positive number of seconds, not \(deadline).")
    }
    try require((1...100_000).contains(count), "--count must be from 1 to 100000, not \(count).")
    try require(!(noClobber && continues), "--no-clobber and --continue exclude each other.")
    if let certificates { _ = try read(certificates) }
    try require(perHost.map { $0 >= 1 } ?? true, "--per-host must be at least 1.")
    try validateTrace()
    _ = try requestSettings()
    _ = try Proxies(option: proxy)
  }

  func run() async throws {
    try await tracing {
      if downloads.isEmpty, list == nil {
        try await Demonstration(fetch: self).run()
      } else {
        let folder = URL(filePath: output ?? ".", directoryHint: .isDirectory)
        try report(await download(try requestedDownloads(), to: folder))
      }
    }
  }

  /// Downloads `files` to `folder`, until they are there or the user has enough of it.
  func download(_ files: [Download], to folder: URL) async throws -> Results {
    try makeFolder(folder)
    // A file beyond the limit of the shell or the disk is an error to report, not a reason to die.
    signal(SIGXFSZ, SIG_IGN)
    let results = Results(fileCount: files.count)
    let console = Console(fileCount: files.count, isQuiet: quiet)
    let transport = HTTPTransport(
      proxies: try Proxies(option: proxy), connectTimeout: .seconds(connectTimeout),
      connectionsPerHost: concurrency * max(2, split), certificates: certificates)
    let parts = PartialFiles(in: folder, continuing: continues)
    let downloader = Downloader(
      transport: transport,
      storage: FolderStorage(parts, existing: noClobber ? .kept : .replaced, syncing: sync),
      options: try options()
    ) { event in
      results.note(event)
      console.note(event)
    }

    // Signals are caught before the first file is opened.
    let (start, starter) = Promise<Void>.withResolvers()
    var work = start.then { downloader.downloadAll(files) }
    if let deadline { work = work.timeout(after: .seconds(deadline)) }
    let interruption = Interruption { [work] in work.cancel() }
    starter.fulfill()
    let ticker = console.tick()
    let outcome = await work.result
    interruption.stop()
    // What was broken off may still be arriving: from here on nothing is written.
    parts.close()
    ticker.cancel()
    console.finish()
    try await transport.shutdown()

    results.elapsed = console.elapsed
    switch outcome {
    case .success: break
    case .failure(is CancellationError):
      results.ending = .signal(interruption.signalNumber ?? SIGINT)
      console.say("fetch: interrupted; \(leftover(parts.keptCount))")
    case .failure(let error):
      guard error is TimeoutError, let deadline else { throw error }
      results.ending = .deadline
      console.say("fetch: not done within \(deadline) s; \(leftover(parts.keptCount))")
    }
    return results
  }

  private func leftover(_ count: Int) -> String {
    switch count {
    case 0: "no partial file was left behind"
    case 1: "a partial file was kept, and the same command goes on with it"
    default: "\(count) partial files were kept, and the same command goes on with them"
    }
  }

  private func makeFolder(_ folder: URL) throws {
    let path = folder.path(percentEncoded: false)
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    } catch let error as CocoaError {
      let code = (error.underlying as? POSIXError)?.code.rawValue ?? ENOTDIR
      throw ValidationError("\(FileFailure(.make, path, code)).")
    }
    guard access(path, W_OK) == 0 else {
      throw ValidationError("\(FileFailure(.write, path, errno)).")
    }
  }
}
