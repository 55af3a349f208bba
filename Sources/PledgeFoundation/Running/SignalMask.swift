import Foundation

#if os(Linux)
  /// Calls `body` with the signal mask of the main thread.
  ///
  /// A process inherits the mask of the thread that launches it. The threads of Dispatch, and
  /// therefore those of Swift tasks, block nearly all signals: a process launched on one of them
  /// would never receive a SIGTERM. During the call, signals that the main thread doesn't block can
  /// also be delivered to this thread.
  func withSignalMaskOfMainThread<R>(_ body: () throws -> R) rethrows -> R {
    guard var wanted = signalMaskOfMainThread() else { return try body() }
    var old = sigset_t()
    pthread_sigmask(SIG_SETMASK, &wanted, &old)
    defer { pthread_sigmask(SIG_SETMASK, &old, nil) }
    return try body()
  }

  /// Returns the signal mask that `/proc/self/status` reports, which is that of the main thread.
  private func signalMaskOfMainThread() -> sigset_t? {
    guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else {
      return nil
    }
    let line = status.split(separator: "\n").first { $0.hasPrefix("SigBlk:") }
    guard let digits = line?.split(whereSeparator: \.isWhitespace).last,
      let bits = UInt64(digits, radix: 16)
    else { return nil }
    var mask = sigset_t()
    sigemptyset(&mask)
    for number in 1...64 where bits & (1 << UInt64(number - 1)) != 0 {
      sigaddset(&mask, Int32(number))
    }
    return mask
  }
#else
  func withSignalMaskOfMainThread<R>(_ body: () throws -> R) rethrows -> R { try body() }
#endif
