import Foundation
import ServiceLifecycle
import UnixSignals

/// Writes the pending promises to standard error at each SIGUSR1.
struct PendingDump: Service {
  func run() async throws {
    let signals = await UnixSignalsSequence(trapping: .sigusr1)
    for await _ in signals.cancelOnGracefulShutdown() {
      FileHandle.standardError.write(Data(pendingPromises().utf8))
    }
  }
}
