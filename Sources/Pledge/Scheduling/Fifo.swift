/// A queue whose elements leave in the order in which they were added.
///
/// - Complexity: O(1) per element, amortized.
struct Fifo<Element> {
  /// The elements, from `next` on.
  private var elements: [Element?] = []
  private var next = 0

  var isEmpty: Bool { next == elements.count }

  var count: Int { elements.count - next }

  var first: Element? { isEmpty ? nil : elements[next] }

  var last: Element? { elements.last ?? nil }

  mutating func append(_ element: Element) { elements.append(element) }

  mutating func append(contentsOf others: consuming [Element?]) {
    elements.append(contentsOf: others)
  }

  mutating func removeFirst() -> Element? {
    guard next < elements.count else { return nil }
    let first = exchange(&elements[next], with: nil)
    next += 1
    if next == elements.count {
      elements.removeAll(keepingCapacity: elements.capacity <= 1024)
      next = 0
    } else if next >= 64, next >= elements.count / 2 {
      // By halves, so that this takes constant time per element.
      elements.removeFirst(next)
      next = 0
    }
    return first
  }

  /// Removes and returns the elements for which `isRemoved` returns true.
  mutating func removeAll(where isRemoved: (Element) -> Bool) -> [Element] {
    let all = elements[next...].compactMap { $0 }
    elements = all.filter { !isRemoved($0) }
    next = 0
    return all.filter(isRemoved)
  }
}

extension Fifo: Sendable where Element: Sendable {}
