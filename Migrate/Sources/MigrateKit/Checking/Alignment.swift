/// The events of two paths, matched with each other.
struct Alignment {
  /// Indices of events that do the same.
  var same: [(old: Int, new: Int)] = []
  /// Calls of the same function with other arguments.
  var changed: [(old: Int, new: Int)] = []
  /// Calls that another call replaces.
  var replaced: [(old: Int, new: Int)] = []
  var missing: [Int] = []
  var added: [Int] = []

  init(_ old: [Event], _ new: [Event]) {
    var freeOld = Set(old.indices)
    var freeNew = Set(new.indices)
    func match(_ isEqual: (Event, Event) -> Bool) -> [(old: Int, new: Int)] {
      var pairs: [(old: Int, new: Int)] = []
      for index in freeOld.sorted() {
        guard let other = freeNew.sorted().first(where: { isEqual(old[index], new[$0]) }) else {
          continue
        }
        freeOld.remove(index)
        freeNew.remove(other)
        pairs.append((index, other))
      }
      return pairs
    }
    var byKey: [String: [Int]] = [:]
    for index in new.indices.reversed() { byKey[new[index].key, default: []].append(index) }
    for index in old.indices {
      guard let other = byKey[old[index].key]?.popLast() else { continue }
      same.append((index, other))
      freeOld.remove(index)
      freeNew.remove(other)
    }
    same += match { ($0.isUnlabelled || $1.isUnlabelled) && $0.isSimilar(to: $1) }
    // Events whose value alone matters are compared where the value is used.
    freeOld = freeOld.filter { old[$0].isStrong }
    freeNew = freeNew.filter { new[$0].isStrong }
    changed = match { $0.kind == $1.kind && $0.kind != .block && $0.subject == $1.subject }
    replaced = match { first, second in
      first.kind == .call && second.kind == .call && first.subject != second.subject
        && (first.values == second.values && !first.values.isEmpty
          || first.baseName.isRelated(to: second.baseName))
    }
    missing = freeOld.sorted()
    added = freeNew.sorted()
  }
}

extension Event {
  /// Whether the event matters for itself, and not only for its value.
  var isStrong: Bool { kind != .call || isEffect || isAwaited || !closures.isEmpty || isPromise }

  var baseName: String { subject.split(separator: ".").last.map(String.init) ?? subject }

  func isSimilar(to other: Event) -> Bool {
    kind == other.kind && subject == other.subject && values == other.values
  }
}

extension String {
  /// Whether two names share their start or their end, as `upvote` and `unvote` do.
  fileprivate func isRelated(to other: String) -> Bool {
    let length = min(count, other.count)
    guard length >= 4 else { return false }
    return commonPrefix(with: other).count * 2 >= length
      || String(reversed()).commonPrefix(with: String(other.reversed())).count * 2 >= length
  }

  private func commonPrefix(with other: String) -> String {
    String(zip(self, other).prefix { $0 == $1 }.map(\.0))
  }
}
