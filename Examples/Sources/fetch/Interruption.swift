import Dispatch
import Foundation
import Synchronization

/// Ctrl-C, turned into a call.
final class Interruption: Sendable {
  private let pressed = Atomic<Int>(0)
  // Set once, below; dispatch sources may be used from any thread.
  private nonisolated(unsafe) let source: any DispatchSourceSignal

  /// Calls `handler` when the user presses Ctrl-C; a second time ends the program at once.
  init(_ handler: @escaping @Sendable () -> Void) {
    signal(SIGINT, SIG_IGN)
    source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
    source.setEventHandler { [unowned self] in
      if pressed.wrappingAdd(1, ordering: .relaxed).oldValue > 0 { exit(130) }
      handler()
    }
    source.activate()
  }

  /// Whether the user pressed Ctrl-C.
  var happened: Bool { pressed.load(ordering: .relaxed) > 0 }

  /// Restores what Ctrl-C does otherwise.
  func stop() {
    source.cancel()
    signal(SIGINT, SIG_DFL)
  }
}
