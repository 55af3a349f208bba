import ArgumentParser
import FetchEngine
import FetchSupport
import Foundation
import Pledge

@main
struct Fetch: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fetch",
    abstract: "Downloads files.",
    discussion: """
      Each argument, or line of a list, describes one file: its URL, the URLs of mirrors that
      provide the same file, and the options out=NAME and sha256=HEX (or sha1=, md5=).

        fetch https://example.org/a.iso
        fetch "https://a.example/x.iso https://b.example/x.iso sha256=9f86…"
        fetch --list downloads.txt --output ~/Downloads
        generate-list | fetch --list -

      fetch writes to NAME.part and renames it to NAME when the file is complete. If the connection \
      breaks, fetch continues from there; if fetch is interrupted or killed, the next run does. An \
      existing file with the right checksum is not downloaded again. Without a checksum, an existing \
      file is replaced, unless you pass --no-clobber or --continue.

      Without arguments, fetch runs a demonstration. A server on this machine provides generated \
      files and is faulty on purpose: it is slow or busy, closes connections, or sends wrong bytes. \
      fetch downloads all files and verifies their checksums.

      Exit status: 0 if all files are complete; 1 if some are missing, including because of \
      --deadline; 64 if the options or the list are invalid; 129, 130, or 143 after SIGHUP, SIGINT \
      (Ctrl-C), or SIGTERM.
      """,
    // `Release/set-version` updates this and the file VERSION.
    version: "0.9.0")

  @Argument(help: "The files to download: URLs, or lines in the format of a list.")
  var downloads: [String] = []

  @Option(help: "A file with one download per line, or a Metalink file; - for standard input.")
  var list: String?

  @Option(help: "A file with checksums, in the format of sha256sum, sha1sum, or md5sum.")
  var checksums: String?

  @Option(name: .shortAndLong, help: "The folder for the files; created if it doesn't exist.")
  var output: String?

  @Flag(
    name: .customLong("continue"), help: "Treat an existing file as the start of its download.")
  var continues = false

  @Flag(help: "Don't replace existing files, unless their checksum is wrong.")
  var noClobber = false

  @Flag(help: "Flush each file to disk before renaming it; slow with many files.")
  var sync = false

  @Option(name: .shortAndLong, help: "The maximum number of files to download at the same time.")
  var concurrency = 8

  @Option(name: .shortAndLong, help: "The maximum number of connections for a large file.")
  var split = 1

  @Option(help: "The maximum number of connections to each host (default: no limit).")
  var perHost: Int?

  @Option(help: "The number of retries after attempts that made no progress.")
  var retries = 6

  @Option(help: "The seconds without data after which a connection is closed.")
  var timeout: Double = 30

  @Option(help: "The maximum number of seconds to establish a connection.")
  var connectTimeout: Double = 10

  @Option(help: "The maximum number of seconds for the whole run.")
  var deadline: Double?

  @Option(name: [.customShort("H"), .long], help: "A header field to send, as in \"Name: value\".")
  var header: [String] = []

  @Flag(help: "Read user names and passwords from ~/.netrc.")
  var netrc = false

  @Option(help: "Read user names and passwords from this file.")
  var netrcFile: String?

  @Option(help: "A proxy: http://HOST:PORT or socks5://HOST:PORT; overrides http_proxy and so on.")
  var proxy: String?

  @Option(
    name: .customLong("cacert"),
    help: "A PEM file with the certificates to trust, instead of those of the system.")
  var certificates: String?

  @Option(help: "The number of files in the demonstration (default: 200).")
  var count: Int?

  @Option(help: "The seed for the files and the faults of the demonstration (default: 1).")
  var seed: UInt64?

  @Option(help: "The file for a trace of all promises: .json for Perfetto, .html for a browser.")
  var trace: String?

  @Flag(help: "Print the result of each file as JSON.")
  var json = false

  @Flag(help: "List all files in the summary, even if there are many.")
  var allRows = false

  @Flag(name: .shortAndLong, help: "Don't show progress.")
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
    if let count {
      try require((1...100_000).contains(count), "--count must be from 1 to 100000, not \(count).")
    }
    // In a script, a list of files may be empty by mistake.
    try require(
      !downloads.isEmpty || list != nil || output == nil || count != nil || seed != nil,
      "There is no file to download. To write the files of the demonstration to a folder, also "
        + "pass --count.")
    try require(!(noClobber && continues), "--no-clobber and --continue can't be combined.")
    if let certificates {
      _ = try read(certificates)
      try require(
        HTTPTransport.hasCertificates(certificates),
        "--cacert: \(certificates) contains no certificate in the PEM format.".printable)
    }
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

  /// Downloads `files` to `folder`, until all are complete or the user interrupts the program.
  func download(_ files: [Download], to folder: URL) async throws -> Results {
    try makeFolder(folder)
    // A file that exceeds the shell's size limit must be reported as an error, not end the program.
    signal(SIGXFSZ, SIG_IGN)
    allowManyFiles()
    let results = Results(files)
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

    // Catch signals before the first file is opened.
    let (start, starter) = Promise<Void>.withResolvers()
    var work = start.then { downloader.downloadAll(files) }
    if let deadline { work = work.timeout(after: .seconds(deadline)) }
    let interruption = Interruption { [work] in work.cancel() }
    starter.fulfill()
    let ticker = console.tick()
    let outcome = await work.result
    interruption.stop()
    // Cancelled responses can still deliver bytes; nothing must be written from here on.
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
      console.say("fetch: not finished within \(deadline) s; \(leftover(parts.keptCount))")
    }
    return results
  }

  /// Raises the limit of open files to the maximum that the system allows.
  private func allowManyFiles() {
    var limit = rlimit()
    #if canImport(Darwin)
      let resource = RLIMIT_NOFILE
    #else
      let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #endif
    guard getrlimit(resource, &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    // If this fails, downloads wait for files that are closed.
    _ = setrlimit(resource, &limit)
  }

  private func leftover(_ count: Int) -> String {
    switch count {
    case 0: "no partial files were kept"
    case 1: "1 partial file was kept; run the same command to continue"
    default: "\(count) partial files were kept; run the same command to continue"
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
