import CExplorer

/// One pointer for each system thread that carries virtual threads.
enum ThreadLocal {
  static var pointer: UnsafeMutableRawPointer? { explorer_local() }

  /// The threads live as long as the process, so nothing is ever destroyed.
  static func set(
    _ pointer: UnsafeMutableRawPointer,
    destroy: @escaping @Sendable (UnsafeMutableRawPointer) -> Void
  ) { explorer_set_local(pointer) }
}
