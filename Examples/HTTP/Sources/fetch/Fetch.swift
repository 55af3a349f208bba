import ArgumentParser
import Foundation
import Pledge

@main
struct Fetch: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fetch",
    abstract: "Downloads files: resumes, retries, uses mirrors, verifies checksums.",
    usage: """
      fetch [options] URL ...
      fetch [options] "URL MIRROR ... sha256=HEX out=NAME" ...
      """,
    // `Scripts/set-version` updates this and the file VERSION.
    version: "0.9.0")

  @Argument(help: ArgumentHelp("What to download.", visibility: .hidden))
  var files: [String] = []

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("The file to write; - for standard output.", valueName: "file"))
  var output: String?

  @Option(name: .shortAndLong, help: ArgumentHelp("The folder for the files.", valueName: "folder"))
  var directory = "."

  @Option(
    name: [.customShort("i"), .long],
    help: ArgumentHelp("A file with one download per line; - for a pipe.", valueName: "file"))
  var list: String?

  @Option(
    name: [.customShort("j"), .long],
    help: ArgumentHelp("The number of files at the same time.", valueName: "n"))
  var concurrency = 8

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("The number of connections for a file.", valueName: "n"))
  var split = 1

  @Option(help: ArgumentHelp("The number of connections to each host.", valueName: "n"))
  var perHost: Int?

  @Option(help: ArgumentHelp("The number of retries without progress.", valueName: "n"))
  var retries = 6

  @Option(help: ArgumentHelp("The limit without data, in seconds.", valueName: "s"))
  var timeout: Double = 30

  @Option(help: ArgumentHelp("The limit for the whole run, in seconds.", valueName: "s"))
  var deadline: Double?

  @Option(
    name: [.customShort("H"), .long],
    help: ArgumentHelp("A header field to send, as in \"Name: value\".", valueName: "field"))
  var header: [String] = []

  @Option(
    name: .customLong("cacert"),
    help: ArgumentHelp("A PEM file with the certificates to trust.", valueName: "file"))
  var certificates: String?

  @Flag(help: "Never replace an existing file.")
  var noClobber = false

  @Flag(name: .shortAndLong, help: "Print errors only.")
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
    for (name, value) in [("timeout", timeout), ("deadline", deadline ?? 1)] {
      try require(
        value > 0 && value < 1e9, "--\(name) must be a positive number of seconds, not \(value).")
    }
    try require(perHost.map { $0 >= 1 } ?? true, "--per-host must be at least 1.")
    // In a script, a list of files may be empty by mistake.
    try require(!files.isEmpty || list != nil, "There is no file to download.")
    if let certificates = trustedCertificates {
      try require(
        HTTPTransport.hasCertificates(certificates),
        "\(certificates) can't be read, or contains no certificate in the PEM format.".printable)
    }
    _ = try requestSettings()
    _ = try Proxies()
  }

  /// Downloads all files, until all are complete or the user interrupts the program.
  func run() async throws {
    let downloads = try requestedDownloads()
    // A file that exceeds the shell's size limit, or a pipe that is closed, must be reported as an
    // error, not end the program.
    for number in [SIGXFSZ, SIGPIPE] { signal(number, SIG_IGN) }
    let files = try target.folder.map { folder in
      try makeFolder(folder)
      return FolderStorage(in: folder, keepsExisting: noClobber)
    }
    let console = Console(fileCount: downloads.count, isQuiet: quiet)
    let transport = HTTPTransport(
      proxies: try Proxies(), connectionsPerHost: concurrency * max(2, split),
      certificates: trustedCertificates)
    let downloader = Downloader(
      transport: transport, storage: files ?? StandardOutput(), options: try options(),
      report: console.note)

    // Catch signals before the first request.
    let (start, starter) = Promise<Void>.withResolvers()
    var work = start.then { downloader.downloadAll(downloads) }
    if let deadline { work = work.timeout(after: .seconds(deadline)) }
    let interruption = Interruption { [work] in work.cancel() }
    starter.fulfill()
    let ticker = console.tick()
    let result = await work.result
    interruption.stop()
    // Cancelled responses can still deliver bytes; nothing must be written from here on.
    files?.close()
    ticker.cancel()
    console.finish()

    let status: Int32
    switch result {
    case .success(let outcomes): status = outcomes.allSatisfy { (try? $0.get()) != nil } ? 0 : 1
    case .failure(is CancellationError):
      console.say("fetch: interrupted; \(leftover(files?.keptCount ?? 0))")
      status = 128 + (interruption.signalNumber ?? SIGINT)
    case .failure(let error):
      guard error is TimeoutError, let deadline else { throw error }
      console.say("fetch: not finished within \(deadline) s; \(leftover(files?.keptCount ?? 0))")
      status = 1
    }
    // The shutdown would wait for a reader of standard output that takes no more.
    if files == nil, case .failure = result { Foundation.exit(status) }
    try await transport.shutdown()
    if status != 0 { throw ExitCode(status) }
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
      let cause = error.userInfo[NSUnderlyingErrorKey] as? POSIXError
      throw ValidationError("\(FileFailure(.create, path, cause?.code.rawValue ?? ENOTDIR)).")
    }
    guard access(path, W_OK) == 0 else {
      throw ValidationError("\(FileFailure(.write, path, errno)).")
    }
  }
}
