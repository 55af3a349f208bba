import ArgumentParser
import Foundation
import Pledge
import PostgreSQL

@main
struct WorkersCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "workers",
    abstract: "Downloads files with any number of workers, which share a queue in PostgreSQL.",
    subcommands: [SubmitCommand.self, WorkCommand.self])
}

struct DatabaseOptions: ParsableArguments {
  @Option(
    help: """
      The connection string, as in 'host=db dbname=jobs sslmode=verify-full'. The environment, as in \
      PGHOST, specifies what it doesn't contain.
      """)
  var database = ""

  /// Repeats queries for `deadline`, or until they succeed.
  func open(
    deadline: Duration? = nil, setUp: String = "",
    onNotification: @escaping @Sendable () -> Void = {}
  ) -> Database {
    var policy = RetryPolicy.exponential(
      attempts: .max, from: .milliseconds(50), maximum: .seconds(1)
    )
    .withJitter().observed { attempt in report("The database is unavailable: \(attempt.error)") }
    policy.deadline = deadline
    // Without a sign of the server for some seconds, the system ends the connection.
    let options =
      "keepalives_idle=2 keepalives_interval=1 keepalives_count=3 tcp_user_timeout=5000 " + database
    return Database(options, policy: policy, setUp: setUp, onNotification: onNotification)
  }
}

struct SubmitCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "submit", abstract: "Adds the files of a list to the queue.")

  @OptionGroup var options: DatabaseOptions

  @Option(help: "The maximum number of connections to each host, over all workers.")
  var perHost = 4

  @Argument(help: "The list: a SHA-256 checksum and a URL on each line.")
  var list: String

  func run() async throws {
    let lines = try String(contentsOfFile: list, encoding: .utf8).split(whereSeparator: \.isNewline)
    let jobs = try lines.map { line in
      guard let job = NewJob(line) else {
        throw ValidationError("This line isn't a SHA-256 checksum and a URL: \(line)")
      }
      return job
    }
    let text = String(decoding: try JSONEncoder().encode(jobs), as: UTF8.self)
    let added = try await options.open(deadline: .seconds(30))
      .query("SELECT submit($1, $2)", [text, "\(perHost)"]).value[0][0]
    print("\(added ?? "") of \(jobs.count) files added")
  }
}

struct WorkCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "work", abstract: "Downloads files of the queue until it is ended.")

  @OptionGroup var options: DatabaseOptions

  @Option(help: "The folder for the files, the same one for all workers.")
  var output = "files"

  @Option(help: "The maximum number of files that this worker downloads at the same time.")
  var files = 4

  @Option(
    help: "The seconds after which the jobs of a worker that gives no sign are performed again.")
  var lease = 15.0

  @Option(help: "The maximum number of seconds for an attempt to download a file.")
  var limit = 300.0

  func run() async throws {
    let bell = Bell()
    let database = options.open(setUp: "LISTEN jobs") { bell.ring() }
    let name =
      "\(ProcessInfo.processInfo.hostName)/\(ProcessInfo.processInfo.processIdentifier)/\(UUID())"
    let downloads = Downloads(
      folder: URL(fileURLWithPath: output, isDirectory: true), limit: .seconds(limit))
    let worker = Worker(
      JobQueue(database: database, worker: name, lease: .seconds(lease)),
      bell: bell, download: downloads.download)

    // SIGTERM ends the worker after its running downloads.
    signal(SIGTERM, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGTERM)
    source.setEventHandler { worker.stop() }
    source.activate()
    defer { source.cancel() }
    try await worker.run(concurrently: files).value
  }
}

private func report(_ line: String) {
  FileHandle.standardError.write(Data("\(line)\n".utf8))
}
