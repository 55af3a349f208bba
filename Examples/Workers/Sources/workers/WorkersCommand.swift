import ArgumentParser
import Foundation
import Pledge
import PostgreSQL

@main
struct WorkersCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "workers",
    abstract: "Downloads the files of a queue in PostgreSQL, with any number of other workers.")

  @Option(
    help: """
      The connection string, as in 'host=db dbname=jobs sslmode=verify-full'. The environment, as in \
      PGHOST, specifies what it doesn't contain.
      """)
  var database = ""

  @Option(help: "The folder for the files, the same one for all workers.")
  var output = "files"

  @Option(help: "The maximum number of files that this worker downloads at the same time.")
  var files = 4

  @Option(help: "The seconds after which other workers perform the jobs of one that gives no sign.")
  var lease = 15.0

  @Option(help: "The maximum number of seconds for an attempt to download a file.")
  var limit = 300.0

  func run() async throws {
    let policy = RetryPolicy.exponential(
      attempts: .max, from: .milliseconds(50), maximum: .seconds(1)
    ).withJitter().observed { attempt in
      FileHandle.standardError.write(Data("The database failed: \(attempt.error)\n".utf8))
    }
    let bell = Bell()
    let database = Database(
      // If nothing arrives from the server for some seconds, the system ends the connection.
      "keepalives_idle=2 keepalives_interval=1 keepalives_count=3 tcp_user_timeout=5000 \(database)",
      policy: policy, setUp: "LISTEN jobs"
    ) { bell.ring() }
    let process = ProcessInfo.processInfo
    let queue = JobQueue(
      database: database, worker: "\(process.hostName)/\(process.processIdentifier)/\(UUID())",
      lease: .seconds(lease))
    let downloads = Downloads(
      folder: URL(fileURLWithPath: output, isDirectory: true), limit: .seconds(limit))
    let worker = Worker(queue, bell: bell, download: downloads.download)

    // SIGTERM ends the worker after its running downloads.
    signal(SIGTERM, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGTERM)
    source.setEventHandler { worker.stop() }
    source.activate()
    defer { source.cancel() }
    try await worker.run(concurrently: files).value
  }
}
