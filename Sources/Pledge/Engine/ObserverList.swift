/// A node of a list of observers, which is doubly linked, newest first, and retains its nodes.
///
/// Only a thread that holds the lock of the cell that owns the list, or has taken the list, uses it.
typealias Observer = Unmanaged<Handler>

extension Observer {
  // Fields are accessed inside the closures, because returning the handler would retain it.

  /// The next older observer.
  @inline(__always)
  var next: Observer? {
    get { _withUnsafeGuaranteedRef { $0.next } }
    nonmutating set { _withUnsafeGuaranteedRef { $0.next = newValue } }
  }

  /// The next newer observer.
  @inline(__always)
  var previous: Observer? {
    get { _withUnsafeGuaranteedRef { $0.previous } }
    nonmutating set { _withUnsafeGuaranteedRef { $0.previous = newValue } }
  }

  /// Makes this the newest observer, before `newest`.
  @inline(__always)
  func link(before newest: Observer?) {
    next = newest
    previous = nil
    newest?.previous = self
  }

  /// Whether this node, if it is in any list, is in the one that starts with `newest`.
  func isListed(in newest: Observer?) -> Bool {
    previous != nil || newest?.toOpaque() == toOpaque()
  }

  /// Removes this node from the list that starts with `newest`, and returns the new start.
  func unlink(from newest: Observer?) -> Observer? {
    let (older, newer) = (next, previous)
    previous = nil
    older?.previous = newer
    guard let newer else { return older }
    newer.next = older
    return newest
  }

  /// Whether there is one strong reference to the observer.
  ///
  /// The pointer is rebound to a reference in place, so that the check doesn't retain the observer.
  @inline(__always)
  var isUniquelyReferenced: Bool {
    var node = self
    return withUnsafeMutablePointer(to: &node) {
      $0.withMemoryRebound(to: Handler.self, capacity: 1) { isKnownUniquelyReferenced(&$0.pointee) }
    }
  }

  /// Moves the nodes of the list that starts with this one, one by one, to the front of `chain`,
  /// which is linked by `next` only: the newest observer becomes the last of them.
  @inline(__always)
  func move(to chain: inout Observer?) {
    var rest: Observer? = self
    while let node = rest {
      rest = node.next
      node.previous = nil
      node.next = chain
      chain = node
    }
  }
}
