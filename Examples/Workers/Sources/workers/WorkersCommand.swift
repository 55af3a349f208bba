import ArgumentParser
import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import Pledge

@main
struct WorkersCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "workers",
    abstract: "Downloads files with workers in other processes or on other hosts.",
    subcommands: [WorkerCommand.self, FetchCommand.self])
}

/// A host and a port, as an argument.
extension Address: ExpressibleByArgument {
  init?(argument: String) { self.init(argument) }
}

struct WorkerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "worker", abstract: "Downloads files for a coordinator.")

  @Option(help: "The address of this worker, as host:port; with port 0, the system chooses a port.")
  var listen: Address

  func run() async throws {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("pledge-worker-\(ProcessInfo.processInfo.processIdentifier)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let server = GRPCServer(
      transport: .http2NIOPosix(
        address: .ipv4(host: listen.host, port: listen.port), transportSecurity: .plaintext,
        config: .defaults { config in
          // Coordinators send keepalive pings often.
          config.connection.keepalive.clientBehavior = .init(
            minPingIntervalWithoutCalls: .seconds(1), allowWithoutCalls: true)
        }),
      services: [DownloadService(folder: folder)])
    let serving = Promise { try await server.serve() }
    do {
      if let address = try await server.listeningAddress?.ipv4 {
        print("listening on \(address.host):\(address.port)")
        fflush(nil)
      }
    } catch {
      // The error of `serve` says why there is no address.
      try await serving.value
      throw error
    }
    try await serving.value
  }
}

struct FetchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fetch", abstract: "Downloads the files of a list with workers.")

  @Option(
    help: "The addresses of the workers, as host:port,host:port.",
    transform: { text in
      try text.split(separator: ",").map { part in
        guard let address = Address(part) else {
          throw ValidationError("'\(part)' isn't an address, as in 10.0.0.7:4000.")
        }
        return address
      }
    })
  var workers: [Address]

  @Option(help: "The folder for the files.")
  var output = "files"

  @Option(help: "The maximum number of files that a worker downloads at the same time.")
  var files = 4

  @Option(help: "The seconds after which another worker also tries to download a file.")
  var patience = 10.0

  @Option(help: "The maximum number of seconds for a file, including all attempts.")
  var limit = 120.0

  @Argument(help: "The list: a SHA-256 checksum and a URL on each line.")
  var list: String

  func validate() throws {
    if workers.isEmpty { throw ValidationError("--workers needs at least one address.") }
    if files < 1 { throw ValidationError("--files must be at least 1.") }
  }

  func run() async throws {
    guard let text = try? String(contentsOfFile: list, encoding: .utf8) else {
      throw ValidationError("The list '\(list)' can't be read as text.")
    }
    let listed = try FileList.read(text)
    let folder = try OutputFolder(URL(fileURLWithPath: output, isDirectory: true))

    let workers = try workers.map { try Worker($0, files: files) }
    let connections = workers.map { $0.connect() }
    let coordinator = Coordinator(
      workers, filesPerWorker: files, folder: folder, patience: .seconds(patience),
      limit: .seconds(limit))
    let report = try await coordinator.fetch(listed).value
    for connection in connections { connection.cancel() }

    for (file, error) in report.failures { print("failed: \(file.url): \(reason(for: error))") }
    print(
      "\(report.files) of \(listed.count) files, \(report.bytes) bytes; "
        + "\(report.kept) already existed; "
        + "\(report.takenBack) attempts repeated because a worker was unavailable")
    if !report.failures.isEmpty { throw ExitCode.failure }
  }
}

/// Returns the reason of an error, in a line.
private func reason(for error: any Error) -> String {
  switch error {
  case let error as AggregateError: error.errors.last.map(reason) ?? "\(error)"
  case let error as RPCError: error.message
  default: "\(error)"
  }
}
