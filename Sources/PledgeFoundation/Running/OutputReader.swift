import Dispatch
import Foundation
import Synchronization

#if os(macOS) || os(Linux)
  /// Reads what comes out of a pipe, whenever something does.
  ///
  /// `@unchecked Sendable`: `state` is a lock; the pipe is read on one queue.
  final class OutputReader: @unchecked Sendable {
    /// `@unchecked Sendable`: dispatch sources may be cancelled on any thread.
    private enum State: @unchecked Sendable {
      case idle
      case reading(any DispatchSourceRead)
      case closed
    }

    private static let queue = DispatchQueue(label: "Pledge.Process", attributes: .concurrent)

    let pipe: Pipe
    private let state = Mutex(State.idle)

    init() throws {
      pipe = Pipe()
      let descriptors = [
        pipe.fileHandleForReading.fileDescriptor, pipe.fileHandleForWriting.fileDescriptor,
      ]
      guard descriptors.allSatisfy({ $0 >= 0 }) else { throw POSIXError(.EMFILE) }
      // No process that somebody else launches shall hold the pipe open.
      for descriptor in descriptors { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
      _ = fcntl(descriptors[0], F_SETFL, O_NONBLOCK)
    }

    /// Calls `completion` with all the bytes when nobody can write any more; not after `close`.
    func start(_ completion: @escaping @Sendable (Data) -> Void) {
      let descriptor = pipe.fileHandleForReading.fileDescriptor
      let source = DispatchSource.makeReadSource(
        fileDescriptor: descriptor,
        queue: DispatchQueue(label: "Pledge.Process.output", target: Self.queue))
      let collected = Collected()
      source.setEventHandler { [weak self] in
        guard collected.read(from: descriptor) else { return }
        self?.close()
        completion(collected.bytes)
      }
      // The descriptor may be closed only when the source does not watch it any more.
      source.setCancelHandler { [pipe] in try? pipe.fileHandleForReading.close() }
      try? pipe.fileHandleForWriting.close()
      state.withLock { $0 = .reading(source) }
      source.activate()
    }

    /// Stops reading.
    func close() {
      let old = state.withLock { state in
        defer { state = .closed }
        return state
      }
      switch old {
      case .idle:
        try? pipe.fileHandleForReading.close()
        try? pipe.fileHandleForWriting.close()
      case .reading(let source):
        source.cancel()
      case .closed:
        break
      }
    }
  }

  /// The bytes so far.
  ///
  /// `@unchecked Sendable`: used on the serial queue of one source.
  private final class Collected: @unchecked Sendable {
    var bytes = Data()
    private var buffer = [UInt8](repeating: 0, count: 65_536)

    /// Reads what is there; returns whether that was the end.
    func read(from descriptor: Int32) -> Bool {
      while true {
        let count = buffer.withUnsafeMutableBytes { systemRead(descriptor, $0) }
        if count > 0 {
          bytes.append(contentsOf: buffer[..<count])
        } else if count == 0 {
          return true
        } else if errno != EINTR {
          return errno != EAGAIN
        }
      }
    }
  }

  private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
    read(descriptor, buffer.baseAddress, buffer.count)
  }
#endif
