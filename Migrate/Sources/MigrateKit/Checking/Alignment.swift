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
    same = Self.inOrder(old, new)
    for pair in same {
      freeOld.remove(pair.old)
      freeNew.remove(pair.new)
    }
    same += match { $0.key == $1.key }
    same += match { ($0.isUnlabelled || $1.isUnlabelled) && $0.isSimilar(to: $1) }
    // An event of which only the value matters in one version, because it isn't waited for there.
    _ = match { $0.kind == $1.kind && $0.subject == $1.subject && $0.isStrong != $1.isStrong }
    // Events whose value alone matters are compared where the value is used.
    freeOld = freeOld.filter { old[$0].isStrong }
    freeNew = freeNew.filter { new[$0].isStrong }
    changed = match { $0.kind == $1.kind && $0.kind != .block && $0.subject == $1.subject }
    replaced = match { first, second in
      if first.kind == .set, second.kind == .set {
        return first.values == second.values && first.subject != second.subject
      }
      return first.kind == .call && second.kind == .call && first.subject != second.subject
        && (first.values == second.values && !first.values.isEmpty
          || first.receiver == second.receiver
            && first.baseName.isRelated(to: second.baseName))
    }
    missing = freeOld.sorted()
    added = freeNew.sorted()
  }

  /// The longest sequence of equal events that both paths have in the same order.
  private static func inOrder(_ old: [Event], _ new: [Event]) -> [(old: Int, new: Int)] {
    var numbers: [String: Int] = [:]
    func number(_ event: Event) -> Int {
      let next = numbers.count
      let number = numbers[event.key] ?? next
      numbers[event.key] = number
      return number
    }
    let (old, new) = (old.map(number), new.map(number))
    let width = new.count + 1
    var lengths = [Int](repeating: 0, count: (old.count + 1) * width)
    for one in old.indices.reversed() {
      for two in new.indices.reversed() {
        lengths[one * width + two] =
          old[one] == new[two]
          ? lengths[(one + 1) * width + two + 1] + 1
          : max(lengths[(one + 1) * width + two], lengths[one * width + two + 1])
      }
    }
    var result: [(old: Int, new: Int)] = []
    var (one, two) = (0, 0)
    while one < old.count, two < new.count {
      if old[one] == new[two] {
        result.append((one, two))
        (one, two) = (one + 1, two + 1)
      } else if lengths[(one + 1) * width + two] >= lengths[one * width + two + 1] {
        one += 1
      } else {
        two += 1
      }
    }
    return result
  }

  /// When the new path would do what only the old one does: after what happens before it.
  func time(ofOld index: Int) -> Double {
    let before = (same + changed + replaced).filter { $0.old < index }.map(\.new).max()
    return Double(before ?? -1) + 0.5 + Double(index) * 1e-6
  }
}

extension Event {
  /// Whether the event matters for itself, and not only for its value.
  ///
  /// A case with a value is only a value.
  var isStrong: Bool {
    kind != .call
      || !subject.hasPrefix(".") && (isEffect || isAwaited || !closures.isEmpty || isPromise)
  }

  var baseName: String { subject.split(separator: ".").last.map(String.init) ?? subject }

  var receiver: Substring {
    subject.lastIndex(of: ".").map { subject[..<$0] } ?? ""
  }

  /// Whether a function of the same type is called, on `self`.
  var isOwn: Bool { receiver.isEmpty || receiver == "self" }

  /// Whether a closure is called that the function gets.
  var isOfParameter: Bool { subject.hasPrefix("parameter ") }

  /// Whether this only writes to a log.
  var isLog: Bool { kind == .call && Self.writesLog(subject) }

  /// Whether a call only writes to a log: it's a function for that, or a method of a logger.
  static func writesLog(_ call: String) -> Bool {
    let words = call.prefix { $0 != "(" }.split(separator: ".")
    let receivers = words.count > 1 ? words.dropLast() : words[...]
    return receivers.contains { logs.contains($0) || $0.lowercased().hasSuffix("logger") }
  }

  private static let logs: Set<Substring> = ["print", "debugPrint", "NSLog", "os_log", "Log"]

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
