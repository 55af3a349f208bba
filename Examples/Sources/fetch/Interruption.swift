import Dispatch
import Foundation
import Synchronization

/// Calls a handler on Ctrl-C, SIGTERM, or SIGHUP.
final class Interruption: Sendable {
  private static let signals = [SIGINT, SIGTERM, SIGHUP]

  private let received = Atomic<Int32>(0)
  // Set once, below; dispatch sources may be used from any thread.
  private nonisolated(unsafe) var sources: [any DispatchSourceSignal] = []

  /// Calls `handler` on the first signal; the second one exits the program immediately.
  init(_ handler: @escaping @Sendable () -> Void) {
    sources = Self.signals.map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { [unowned self] in
        if received.exchange(number, ordering: .relaxed) != 0 { exit(128 + number) }
        handler()
      }
      source.activate()
      return source
    }
  }

  /// The signal that was received, or nil.
  var signalNumber: Int32? {
    let number = received.load(ordering: .relaxed)
    return number == 0 ? nil : number
  }

  /// Restores the default actions of the signals.
  func stop() {
    for source in sources { source.cancel() }
    for number in Self.signals { signal(number, SIG_DFL) }
  }
}
