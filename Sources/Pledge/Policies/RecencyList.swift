/// A list of objects in the order of their last use; each operation takes constant time.
///
/// It is a doubly linked list in an array, so that no operation, and no release, recurses or runs
/// code of the objects. The owner of an object stores its place.
struct RecencyList<Element: AnyObject> {
  private struct Node {
    /// The element; nil in a free node.
    var element: Element?
    var older: Int
    var newer: Int
  }

  /// The nodes; the first one is the head of the list, which is circular: its `newer` is the oldest
  /// element.
  private var nodes = [Node(element: nil, older: 0, newer: 0)]
  private var free: [Int] = []

  /// The number of elements.
  var count: Int { nodes.count - 1 - free.count }

  /// The elements, the newest first.
  ///
  /// - Complexity: O(n).
  var newestFirst: [Element] {
    var elements: [Element] = []
    var place = nodes[0].older
    while let element = nodes[place].element {
      elements.append(element)
      place = nodes[place].older
    }
    return elements
  }

  /// The least recently used element.
  var oldest: Element? { nodes[nodes[0].newer].element }

  /// Inserts an element as the newest one and returns its place.
  mutating func insert(_ element: Element) -> Int {
    let node = Node(element: element, older: 0, newer: 0)
    let place: Int
    if let last = free.popLast() {
      place = last
      nodes[place] = node
    } else {
      place = nodes.count
      nodes.append(node)
    }
    link(place)
    return place
  }

  /// Makes an element the newest one and returns true, if it is at this place.
  mutating func use(_ element: Element, at place: Int) -> Bool {
    guard contains(element, at: place) else { return false }
    unlink(place)
    link(place)
    return true
  }

  /// Removes an element, if it is at this place.
  ///
  /// The caller must hold a reference, because the element must not be deallocated here.
  mutating func remove(_ element: Element, at place: Int) {
    guard contains(element, at: place) else { return }
    unlink(place)
    nodes[place].element = nil
    free.append(place)
  }

  /// Returns whether the element is at this place, which another list can have assigned.
  private func contains(_ element: Element, at place: Int) -> Bool {
    nodes.indices.contains(place) && nodes[place].element === element
  }

  private mutating func link(_ place: Int) {
    let newest = nodes[0].older
    nodes[place].older = newest
    nodes[place].newer = 0
    nodes[newest].newer = place
    nodes[0].older = place
  }

  private mutating func unlink(_ place: Int) {
    let node = nodes[place]
    nodes[node.older].newer = node.newer
    nodes[node.newer].older = node.older
  }
}
