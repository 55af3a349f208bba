import ArgumentParser
import Foundation
import InMemoryTracing
import Logging
import Pledge
import PledgeDiagnostics
import Tracing

@main
struct GatewayCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "gateway",
    abstract: "Runs a gateway and three unreliable backends.")

  @Option(help: "The port of the gateway.")
  var port = 8080
  @Option(help: "The least number of milliseconds after which a slow call is repeated.")
  var hedgeAfter = 50
  @Flag(help: "Don't repeat slow calls.")
  var noHedge = false
  @Flag(help: "Don't record promises: the gateway is much faster, but /debug/pending shows none.")
  var noTrace = false
  @Flag(help: "Show where in the source each pending promise was created; this takes seconds.")
  var places = false
  @Flag(help: "Write the spans of each page to standard error, as lines of JSON.")
  var spans = false
  @Option(help: "The seconds for which the gateway accepts connections after SIGTERM.")
  var drain = 1.0
  @Option(help: "The log level; debug shows the calls to the backends.")
  var logLevel = "info"

  func validate() throws {
    guard (0...65_535).contains(port) else {
      throw ValidationError("--port must be from 0 to 65535, not \(port).")
    }
    guard (0...1_000_000).contains(hedgeAfter) else {
      throw ValidationError("--hedge-after must be from 0 to 1000000, not \(hedgeAfter).")
    }
    guard drain >= 0, drain < 1e6 else {
      throw ValidationError("--drain must be from 0 to 1000000 seconds, not \(drain).")
    }
  }

  func run() async throws {
    guard let level = Logger.Level(rawValue: logLevel) else {
      throw ValidationError("\(logLevel) is not a log level.")
    }
    LoggingSystem.bootstrap { label in StreamLogHandler.standardError(label: label) }
    var logger = Logger(label: "gateway")
    logger.logLevel = level
    if !noTrace { Trace.start(capturesPlaces: places) }

    let settings = Settings(
      port: port, hedgeDelay: noHedge ? nil : .milliseconds(hedgeAfter), drain: .seconds(drain))
    let tracer = spans ? InMemoryTracer() : nil
    if let tracer { InstrumentationSystem.bootstrap(tracer) }
    let server = Server(
      settings: settings, logger: logger, tracer: tracer, shutdownSignals: [.sigterm, .sigint])
    server.address.done { address in
      let text = "Open \(address)/ in a browser. Ctrl-C ends the gateway.\n"
      FileHandle.standardOutput.write(Data(text.utf8))
    }.ignoreErrors()
    try await server.group.run()
  }
}
