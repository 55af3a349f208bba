import Dispatch
import Foundation
import Synchronization

/// Calls a handler on Ctrl-C, SIGTERM, or SIGHUP.
final class Interruption: Sendable {
  private static let signals = [SIGINT, SIGTERM, SIGHUP]
  /// The time after the first signal in which others are ignored: `timeout` sends each signal
  /// twice, to the process and to its group.
  private static let pause = Duration.milliseconds(500)

  private let received = Mutex<(number: Int32, time: ContinuousClock.Instant)?>(nil)
  // Set once, below; dispatch sources may be used from any thread.
  private nonisolated(unsafe) var sources: [Int32: any DispatchSourceSignal] = [:]

  /// Calls `handler` on the first signal; a later one exits the program immediately.
  ///
  /// Signals that the process already ignores, as with `nohup`, stay ignored.
  init(_ handler: @escaping @Sendable () -> Void) {
    for number in Self.signals {
      if unsafeBitCast(signal(number, SIG_IGN), to: Int.self)
        == unsafeBitCast(SIG_IGN, to: Int.self)
      {
        continue
      }
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { [self] in
        let now = ContinuousClock.now
        let first = received.withLock { received in
          defer { received = received ?? (number, now) }
          return received
        }
        if let first {
          if now - first.time > Self.pause { exit(128 + number) }
        } else {
          handler()
        }
      }
      // The registration is asynchronous, and a signal that arrives before it is lost.
      let isRegistered = DispatchSemaphore(value: 0)
      source.setRegistrationHandler { isRegistered.signal() }
      source.activate()
      isRegistered.wait()
      sources[number] = source
    }
  }

  /// The signal that was received, or nil.
  var signalNumber: Int32? { received.withLock { $0?.number } }

  /// Restores the default actions of the signals, unless one was received: the second signal of
  /// `timeout` must not end the program before it has printed the summary.
  func stop() {
    if signalNumber != nil { return }
    for (number, source) in sources {
      source.cancel()
      signal(number, SIG_DFL)
    }
  }
}
