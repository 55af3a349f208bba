import Foundation

/// Abandons promises one after the other where abandoning one releases the next: a chain of any
/// length is released in constant stack.
enum ReleaseQueue {
  /// `@unchecked Sendable`: each thread has one of its own.
  private final class List: @unchecked Sendable {
    var isBusy = false
    var waiting: [any Abandonable] = []
  }

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    pthread_key_create(&key) { pointer in
      let pointer: UnsafeMutableRawPointer? = pointer
      if let pointer { Unmanaged<List>.fromOpaque(pointer).release() }
    }
    return key
  }()

  private static var list: List {
    if let pointer = pthread_getspecific(key) {
      return Unmanaged<List>.fromOpaque(pointer).takeUnretainedValue()
    }
    let list = List()
    pthread_setspecific(key, Unmanaged.passRetained(list).toOpaque())
    return list
  }

  /// Abandons `ending` now, or when what this thread is giving up already is gone.
  static func abandon(_ ending: some Abandonable) {
    let list = list
    list.waiting.append(ending)
    guard !list.isBusy else { return }
    list.isBusy = true
    while let next = list.waiting.popLast() { next.abandon() }
    list.isBusy = false
  }
}
