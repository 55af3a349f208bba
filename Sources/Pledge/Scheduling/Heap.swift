/// A binary heap whose elements know their place, so that each can be removed in logarithmic time.
package struct Heap<Element: HeapElement> {
  /// The elements in no particular order, except that the first one precedes all others.
  package private(set) var elements: [Element] = []

  package init() {}

  package var count: Int { elements.count }

  package var first: Element? { elements.first }

  package mutating func insert(_ element: Element) {
    elements.append(element)
    moveUp(element, from: count - 1)
  }

  /// Removes an element; returns false if it isn't in the heap.
  @discardableResult
  package mutating func remove(_ element: Element) -> Bool {
    let place = element.place
    guard place >= 0 else { return false }
    element.place = -1
    let last = elements.removeLast()
    if place < count {
      moveDown(last, from: place)
      moveUp(last, from: last.place)
    }
    return true
  }

  /// Removes and returns all elements, in their order.
  package mutating func removeAll() -> [Element] {
    for element in elements { element.place = -1 }
    return exchange(&elements, with: []).sorted { $0.precedes($1) }
  }

  private mutating func put(_ element: Element, at place: Int) {
    elements[place] = element
    element.place = place
  }

  private mutating func moveUp(_ element: Element, from start: Int) {
    var place = start
    while place > 0, element.precedes(elements[(place - 1) / 2]) {
      put(elements[(place - 1) / 2], at: place)
      place = (place - 1) / 2
    }
    put(element, at: place)
  }

  private mutating func moveDown(_ element: Element, from start: Int) {
    var place = start
    while 2 * place + 1 < count {
      var child = 2 * place + 1
      if child + 1 < count, elements[child + 1].precedes(elements[child]) { child += 1 }
      if !elements[child].precedes(element) { break }
      put(elements[child], at: place)
      place = child
    }
    put(element, at: place)
  }
}

package protocol HeapElement {
  /// Its place in the heap; -1 if it isn't there.
  var place: Int { get nonmutating set }

  func precedes(_ other: Self) -> Bool
}
