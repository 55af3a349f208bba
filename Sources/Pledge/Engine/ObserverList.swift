/// Operations on observers in a doubly linked list, newest first.
///
/// The caller holds the lock of the cell that owns the list, or has taken the list. A list retains
/// its observers.
enum ObserverList {
  typealias Node = Unmanaged<Handler>

  // Fields are accessed inside the closures, because returning the handler would retain it.

  /// The next older observer.
  @inline(__always)
  static func next(_ node: Node) -> Node? { node._withUnsafeGuaranteedRef { $0.next } }

  @inline(__always)
  static func setNext(_ node: Node, _ next: Node?) {
    node._withUnsafeGuaranteedRef { $0.next = next }
  }

  /// Makes `node` the newest observer, before `newest`.
  @inline(__always)
  static func link(_ node: Node, before newest: Node?) {
    node._withUnsafeGuaranteedRef {
      $0.next = newest
      $0.previous = nil
    }
    newest?._withUnsafeGuaranteedRef { $0.previous = node }
  }

  /// Whether `node`, if it is in any list, is in the one that starts with `newest`.
  static func contains(_ node: Node, _ newest: Node?) -> Bool {
    node._withUnsafeGuaranteedRef { $0.previous != nil } || newest?.toOpaque() == node.toOpaque()
  }

  /// Removes `node` from the list that starts with `newest`, and returns the new start.
  static func unlink(_ node: Node, _ newest: Node?) -> Node? {
    let (next, previous) = node._withUnsafeGuaranteedRef { node in
      (exchange(&node.next, with: nil), exchange(&node.previous, with: nil))
    }
    next?._withUnsafeGuaranteedRef { $0.previous = previous }
    guard let previous else { return next }
    setNext(previous, next)
    return newest
  }

  /// Whether there is one strong reference to the observer.
  ///
  /// The pointer is rebound to a reference in place, so that the check doesn't retain the observer.
  @inline(__always)
  static func isUniquelyReferenced(_ node: Node) -> Bool {
    var node = node
    return withUnsafeMutablePointer(to: &node) {
      $0.withMemoryRebound(to: Handler.self, capacity: 1) { isKnownUniquelyReferenced(&$0.pointee) }
    }
  }

  /// Turns a list that was taken, newest first, into a chain, oldest first.
  @inline(__always)
  static func oldestFirst(_ newest: Node) -> Node {
    var reversed = newest
    var rest = exchangeNext(of: newest, with: nil)
    while let node = rest {
      rest = exchangeNext(of: node, with: reversed)
      reversed = node
    }
    return reversed
  }

  @inline(__always)
  private static func exchangeNext(of node: Node, with next: Node?) -> Node? {
    node._withUnsafeGuaranteedRef {
      $0.previous = nil
      return exchange(&$0.next, with: next)
    }
  }

  /// Releases all observers of a list.
  static func release(_ list: Node) {
    var rest: Node? = list
    while let node = rest {
      rest = exchangeNext(of: node, with: nil)
      node.release()
    }
  }
}
