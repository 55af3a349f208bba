import ArgumentParser
import Foundation
import Logging
import Pledge
import PledgeDiagnostics

@main
struct GatewayCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "gateway",
    abstract: "A gateway in front of three unreliable backends, which it starts, too.")

  @Option(help: "The port of the gateway.")
  var port = 8080
  @Option(help: "The milliseconds after which a slow backend is asked again.")
  var hedgeAfter = 50
  @Flag(help: "Never ask a slow backend again.")
  var noHedge = false
  @Flag(help: "Don't record promises: /debug/pending is empty, and the gateway much faster.")
  var noTrace = false
  @Flag(help: "Show where in the source each pending promise was made; this takes seconds.")
  var places = false
  @Option(help: "The seconds in which the gateway still accepts connections after SIGTERM.")
  var drain = 1.0
  @Option(help: "The level of the log: debug shows the calls to the backends.")
  var logLevel = "info"

  func run() async throws {
    guard let level = Logger.Level(rawValue: logLevel) else {
      throw ValidationError("\(logLevel) is no level of the log.")
    }
    LoggingSystem.bootstrap { label in StreamLogHandler.standardError(label: label) }
    var logger = Logger(label: "gateway")
    logger.logLevel = level
    if !noTrace { Trace.start(capturesPlaces: places) }

    var settings = Settings()
    settings.port = port
    settings.hedgeDelay = noHedge ? nil : .milliseconds(hedgeAfter)
    settings.drain = .seconds(drain)
    let server = Server(
      settings: settings, logger: logger, shutdownSignals: [.sigterm, .sigint])
    server.address
      .done { address in
        let text = "Open \(address)/ in a browser. Ctrl-C ends the gateway.\n"
        FileHandle.standardOutput.write(Data(text.utf8))
      }
      .cauterize()
    try await server.group.run()
  }
}
