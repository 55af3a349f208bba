import Foundation

/// The identity of a thread.
///
/// The system can reuse the identity of a thread that has ended.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
struct ThreadKey: Hashable {
  let rawValue: UInt
  let isMain: Bool

  static var current: ThreadKey {
    let handle = pthread_self()
    let number = withUnsafeBytes(of: handle) { $0.loadUnaligned(as: UInt.self) }
    return ThreadKey(rawValue: number, isMain: Thread.isMainThread)
  }
}
