/// What differs between two paths that answer all common questions equally.
extension Comparison {
  func compare() {
    let second = new[current.new]
    let first = old[current.old].settled(by: second)
    let alignment = Alignment(first.events, second.events)
    let crashes = alignment.added.contains { second.events[$0].subject == "crash" }
    for index in alignment.missing {
      let event = first.events[index]
      // A thread that no longer blocks is no lost effect.
      if event.subject == "wait" || event.subject.hasPrefix("DispatchSemaphore") { continue }
      // Its value is described where it's used.
      if event.kind == .set, event.isLocal { continue }
      // Nor is a pause after which nothing happens.
      if event.subject == "sleep", first.isLast(event) { continue }
      // A program that crashes does nothing more.
      if crashes || second.ending == .crash && first.ending != .crash { continue }
      if second.skips(event) { continue }
      current.causes.insert(Cause(old: event.key, new: nil))
      let isRepeated = alignment.same.contains { first.events[$0.old].key == event.key }
      time = alignment.time(ofOld: index)
      note(
        .effectLost, event.key + (isRepeated ? " as often as before" : ""), event.place,
        second.endPlace, event)
    }
    for index in alignment.added {
      let event = second.events[index]
      time = Double(index)
      if event.subject == "crash" {
        note(.crash, "", nil, event.place)
        continue
      }
      if first.skips(event) || event.kind == .set && event.isLocal { continue }
      current.causes.insert(Cause(old: nil, new: event.key))
      let isRepeated = alignment.same.contains { second.events[$0.new].key == event.key }
      note(isRepeated ? .effectRepeated : .effectAdded, event.key, nil, event.place, event)
    }
    for match in alignment.changed {
      time = Double(match.new)
      let (before, after) = (first.events[match.old], second.events[match.new])
      // A continuation gets what is nil, and the code after it asks.
      if after.isContinuation, after.key.hasPrefix("fulfill("), before.key.hasPrefix("reject("),
        first.decisions["\(after.key.dropFirst(8).dropLast()) != nil"] == false
      {
        continue
      }
      current.causes.insert(Cause(old: before.key, new: after.key))
      note(
        .argumentChanged, "\(before.key)` became `\(after.key)", before.place, after.place, after)
      addClosures(before, after)
    }
    for match in alignment.replaced {
      time = Double(match.new)
      let (before, after) = (first.events[match.old], second.events[match.new])
      current.causes.insert(Cause(old: before.key, new: after.key))
      if before.closures.isEmpty != after.closures.isEmpty { current.losesCallback = true }
      note(
        .callReplaced, "\(before.key)` became `\(after.key)", before.place, after.place)
      addClosures(before, after)
    }
    for match in alignment.same {
      time = Double(match.new)
      compare(first.events[match.old], second.events[match.new], first, second)
    }
    time = .infinity
    compareWaits(first, second)
    compareEndings(first, second, alignment)
    compareOrder(alignment, first, second)
    compareConcurrency(alignment, first, second)
  }

  private func addClosures(_ before: Event, _ after: Event) {
    if !before.closures.isEmpty || !after.closures.isEmpty {
      current.closures.append((before, after))
    }
  }

  private func compare(
    _ before: Event, _ after: Event, _ first: Path, _ second: Path
  ) {
    addClosures(before, after)
    if first.skips(before) || second.skips(after) { return }
    // The call of an `async let` runs where its function is isolated, even if this path fails before
    // it is awaited.
    let isChildCall = second.lists[after.list].kind == .child && !after.isEffect
    if !isChildCall { compareExecutors(before, after) }
    // A path that fails before it waits for a child task ends it.
    let goesOn = if case .value = second.ending { true } else { false }
    guard before.isStrong, after.isStrong || goesOn else { return }
    let wasWaitedFor = before.isAwaited || before.origin != 0
    let isLeft = first.waits(for: before) && !second.waits(for: after)
    // A task that the function returns is awaited by its callers.
    let isReturned = second.ending == .value(Value.promise(0).text)
    let isUnawaited =
      before.isAwaited && !after.isAwaited && before.isKnownToBeAwaited && !after.needsNoWait
    // A function for which nothing waited became `async`.
    let isUnfinished = !before.isAwaited && after.isAwaited
    if !isReturned, isUnawaited || wasWaitedFor && isLeft && !isUnfinished {
      current.causes.insert(Cause(old: before.key, new: after.key))
      note(.waitLost, after.summary, before.place, after.place)
    }
    guard after.isStrong else { return }
    if before.priority != after.priority, !after.isLocked {
      note(
        .priorityChanged,
        "now runs with the priority \(after.priority.isEmpty ? "of the caller" : after.priority)"
          + "|\(after.summary)",
        before.place, after.place)
    }
    let startedInside = first.lists[before.origin].kind == .own
    // A child task belongs to the task that starts it.
    var starter = second.lists[after.origin]
    while starter.kind == .child { starter = second.lists[starter.parent] }
    let origin = starter.kind
    if startedInside, origin == .task || origin == .dispatched && isLeft {
      note(.startsLater, after.summary, before.place, after.place)
    }
    if first.lists[before.list].kind != .own, second.lists[after.list].kind == .own, isFireAndForget
    {
      note(.callerWaits, after.summary, before.place, after.place)
    }
    // Perhaps all that wait for one promise.
    if after.kind == .settle { return }
    // What takes no time runs one after the other, too.
    if before.isParallel != after.isParallel, !before.loops.isEmpty || !after.loops.isEmpty,
      before.isAwaited || after.isAwaited
    {
      note(
        before.isParallel ? .becameSequential : .becameParallel, after.summary, before.place,
        after.place)
    }
    if before.loops.count == after.loops.count, before.loops != after.loops,
      let (one, two) = zip(before.loops, after.loops).first(where: { $0 != $1 }),
      one.isRange, two.isRange
    {
      note(
        .argumentChanged, "\(before.summary) for each of \(one)` became `for each of \(two)",
        before.place, after.place)
    }
    if before.loops.count < after.loops.count {
      note(
        .effectRepeated, "\(after.summary)` for each element of `\(after.loops.last ?? "")",
        before.place, after.place)
    }
    if before.loops.count > after.loops.count {
      note(
        .effectLost, "\(after.summary)` for each element of `\(before.loops.last ?? "")",
        before.place, after.place)
    }
  }

  /// Reports promises and tasks from elsewhere that a path no longer waits for, although it goes on.
  private func compareWaits(_ first: Path, _ second: Path) {
    guard case .value = second.ending else { return }
    for (text, isCertain) in first.waits.sorted(by: { $0.key < $1.key })
    where isCertain && second.waits[text] == nil {
      note(.waitLost, text, first.endPlace, second.endPlace)
    }
  }

  private func compareExecutors(_ before: Event, _ after: Event) {
    // What a promise stands for ran elsewhere.
    guard !before.isAwaited, !after.isLocked || after.executor == .main, Self.isBound(after),
      Self.differ(before.executor, after.executor)
    else { return }
    note(
      .executorChanged,
      "ran on \(before.executor) and now runs on \(after.executor)|\(after.summary)",
      before.place, after.place, after)
  }

  /// Whether it matters where an event happens.
  ///
  /// A pause keeps no thread. An `async` function runs where it is isolated. Where a value is computed
  /// or a local variable is set makes no difference, unless it keeps the main thread busy.
  static func isBound(_ event: Event) -> Bool {
    if event.subject == "sleep" || event.isLog || event.isAwaited { return false }
    if event.executor != .main, threadSafe.contains(event.receiver) { return false }
    if !event.isStrong || event.isLocal, event.executor != .main || event.isCheap { return false }
    return event.isStrong || event.baseName.first?.isUppercase != true
  }

  /// Objects that any thread can use.
  private static let threadSafe: Set<Substring> = ["FileManager.default", "UserDefaults.standard"]

  static func differ(_ before: Executor, _ after: Executor) -> Bool {
    switch (before, after) {
    case (.callback, _), (_, .callback), (.caller, _), (_, .caller): false
    default: before != after
    }
  }

  /// Reports events that moved relative to the others: those outside the longest sequence in which
  /// both versions agree.
  private func compareOrder(
    _ alignment: Alignment, _ first: Path, _ second: Path
  ) {
    let matches = alignment.same
      .filter { first.events[$0.old].isStrong && second.events[$0.new].isStrong }
      .sorted { $0.old < $1.old }
    guard matches.count > 1 else { return }
    var best = matches.map { _ in 1 }
    var previous = matches.map { _ in -1 }
    for index in matches.indices {
      for earlier in 0..<index
      where !isInverted(matches[earlier], matches[index], first, second)
        && best[earlier] + 1 > best[index]
      {
        best[index] = best[earlier] + 1
        previous[index] = earlier
      }
    }
    guard var at = best.indices.max(by: { best[$0] < best[$1] }), best[at] < matches.count else {
      return
    }
    var kept: Set<Int> = []
    while at >= 0 {
      kept.insert(at)
      at = previous[at]
    }
    for index in matches.indices where !kept.contains(index) {
      let match = matches[index]
      guard
        let other = kept.sorted().first(where: {
          let (one, two) = $0 < index ? (matches[$0], match) : (match, matches[$0])
          return isInverted(one, two, first, second)
        })
      else { continue }
      time = Double(match.new)
      note(
        .orderChanged,
        "\(first.events[match.old].summary)` and `\(first.events[matches[other].old].summary)",
        first.events[match.old].place, second.events[match.new].place)
    }
  }

  private func isInverted(
    _ one: (old: Int, new: Int), _ two: (old: Int, new: Int), _ first: Path, _ second: Path
  ) -> Bool {
    let (later, earlier) = (second.events[one.new], second.events[two.new])
    // Calls that run at the same time have no order.
    if earlier.isAwaited, later.isAwaited, second.overlaps(earlier, later),
      first.overlaps(first.events[one.old], first.events[two.old])
    {
      return false
    }
    return first.events[one.old].list == first.events[two.old].list
      && later.list == earlier.list && one.new > two.new
      && !second.isUnawaited(earlier, at: later) && !second.isUnawaited(later, at: earlier)
  }

  /// Compares whether a call starts while another one, before it, is still in progress.
  private func compareConcurrency(
    _ alignment: Alignment, _ first: Path, _ second: Path
  ) {
    let matches = alignment.same
      .filter { first.events[$0.old].isAwaited && second.events[$0.new].isAwaited }
      .sorted { $0.old < $1.old }
    for (one, two) in zip(matches, matches.dropFirst()) {
      let wasParallel = first.isInProgress(first.events[one.old], at: first.events[two.old])
      let isParallel = second.overlaps(second.events[one.new], second.events[two.new])
      guard wasParallel != isParallel else { continue }
      time = Double(two.new)
      note(
        wasParallel ? .becameSequential : .becameParallel,
        "\(first.events[one.old].summary)` and `\(first.events[two.old].summary)",
        first.events[two.old].place, second.events[two.new].place)
    }
  }

  private func compareEndings(_ first: Path, _ second: Path, _ alignment: Alignment) {
    guard first.ending != second.ending else { return }
    let places = (first.endPlace, second.endPlace)
    /// When the call fails whose error ends a path.
    func failure(_ error: String, _ path: Path, _ time: (Int) -> Double) -> Double? {
      path.events.indices.last { error.hasPrefix("error of " + path.events[$0].key) }.map(time)
    }
    switch (first.ending, second.ending) {
    case (_, .crash): break
    case (.error(let error), .value):
      let time = failure(error, first) { alignment.time(ofOld: $0 + 1) }
      note(.errorSwallowed, error, places.0, places.1, at: time)
    case (.value, .error(let error)):
      let time = failure(error, second) { Double($0) + 0.25 }
      note(.errorAdded, error, places.0, places.1, at: time)
    case (.error(let before), .error(let after)):
      // A cancellation stays one.
      if after == "CancellationError()", first.decisions["\(before).isCancelled"] == true { break }
      note(.errorChanged, "\(before)` became `\(after)", places.0, places.1)
    case (.value(let before), .value(let after)):
      if second.answer(to: before) == after || first.answer(to: after) == before { break }
      note(.resultChanged, "\(before)` became `\(after)", places.0, places.1)
    case (.crash, _): break
    }
  }
}

extension Path {
  /// What a condition is on this path; nil if it doesn't ask.
  fileprivate func answer(to condition: String) -> String? {
    if condition.hasPrefix("!") {
      return decisions[String(condition.dropFirst())].map { String(!$0) }
    }
    return decisions[condition].map { String($0) }
  }
}

extension String {
  /// Whether a loop over this counts through a range.
  fileprivate var isRange: Bool { contains("..<") || contains("...") }
}
