#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// The identity of a thread.
///
/// `@unchecked Sendable`: a number, or a pointer that is only compared.
struct ThreadID: Equatable, @unchecked Sendable {
  private let thread: pthread_t

  static var current: ThreadID { ThreadID(thread: pthread_self()) }

  static func == (first: ThreadID, second: ThreadID) -> Bool {
    pthread_equal(first.thread, second.thread) != 0
  }
}
