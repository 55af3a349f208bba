import Exploration
import Pledge
import VirtualPlatform

let adoptingPrograms = [
  Program("adopt-cancel-told") { notes in
    let (source, sourceResolver) = Promise<Int>.withResolvers()
    let (inner, innerResolver) = Promise<Token>.withResolvers()
    let told = Box(0)
    innerResolver.onCancel { told.value += 1 }
    let runs = Box(0)
    let outer = source.then(on: .immediate) { _ in
      runs.value += 1
      return inner
    }
    outer.note("outer", in: notes)
    return Scenario([{ sourceResolver.fulfill(1) }, { outer.cancel() }]) {
      defer { innerResolver.fulfill(Token()) }
      return expect(
        outer.isOne(of: "cancelled"), notes.agree(["outer"], with: "cancelled"),
        (
          told.value == runs.value,
          "the handler ran \(runs.value) times, the inner producer was told \(told.value) times"
        ))
    }
  },
  Program("adopt-observed-cancel-attach") { notes in
    let (outer, inner, resolver) = adopted(notes)
    return Scenario([
      { outer.cancel() }, { outer.counted().note("during", in: notes) },
      { resolver.fulfill(Token()) },
    ]) {
      expect(
        notes.agree(["outer", "during"], with: outer.state),
        notes.agree(["inner"], with: "value"), inner.isOne(of: "value"))
    }
  },
  Program("tail-late-observers") { _ in tail(cancelling: nil) },
  Program("tail-cancel-outer") { _ in tail(cancelling: 0) },
  Program("tail-cancel-inner") { _ in tail(cancelling: 2) },
  Program("row-settle") { _ in row(adopting: [2]) },
  Program("row-cancel") { _ in row(adopting: [2], cancels: true) },
  Program("row-observed") { _ in row(adopting: [2], isObserved: true) },
  Program("row-two-adopt") { _ in row(adopting: [1, 2]) },
  Program("cycle-itself") { notes in
    let (source, resolver) = Promise<Int>.withResolvers()
    let own = Box<[Promise<Int>]>([])
    let promise = source.then(on: .immediate) { _ in own.value[0] }
    own.value = [promise]
    promise.note("before", in: notes)
    return Scenario([{ resolver.fulfill(1) }, { promise.note("during", in: notes) }]) {
      own.value = []
      return expect(notes.agree(["before", "during"], with: "cycle"), promise.isOne(of: "cycle"))
    }
  },
  Program("cycle-of-two") { _ in cycle(of: 2) },
  Program("cycle-of-three") { _ in cycle(of: 3) },
  Program("cycle-cancelled") { _ in cycle(of: 2, cancels: true) },
  Program("cycle-unobserved", reports: 0...2) { _ in cycle(of: 2, isObserved: false) },
  // Promises that wait for a promise made from the next one, two of which are cancelled.
  Program("cycle-of-two-maps") { notes in
    let sources = (0..<2).map { _ in Promise<Int>.withResolvers() }
    let promises = Box<[Promise<Int>]>([])
    let all = sources.enumerated().map { index, source in
      source.promise.then(on: .immediate) { _ in
        promises.value[1 - index].map(on: .immediate) { $0 }
      }
    }
    promises.value = all
    // Watchers, because another consumer of a promise would end the request there.
    for (index, promise) in all.enumerated() { promise.noteWatching("\(index)", in: notes) }
    return Scenario([
      { sources[0].resolver.fulfill(1) },
      {
        sources[1].resolver.fulfill(1)
        all[1].cancel()
      },
      { all[0].cancel() },
    ]) {
      promises.value = []
      return expect(
        all[0].isOne(of: "cancelled"), all[1].isOne(of: "cancelled"),
        notes.agree(["0", "1"], with: "cancelled"))
    }
  },
  Program("resolve-with-cancel") { notes in
    let (promise, resolver) = Promise<Token>.withResolvers()
    let (other, otherResolver) = Promise<Token>.withResolvers()
    let last = Box<Resolver<Token>?>(resolver)
    let told = Box(0)
    otherResolver.onCancel { told.value += 1 }
    promise.note("before", in: notes)
    return Scenario([
      {
        last.value?.resolve(with: other)
        last.value = nil
      },
      { promise.cancel() }, { otherResolver.fulfill(Token()) },
    ]) {
      expect(
        (told.value <= 1, "told \(told.value) times"), promise.isOne(of: "value", "cancelled"),
        (other.state != "pending", "the other one is pending"),
        notes.agree(["before"], with: promise.state))
    }
  },
]

/// Returns a promise that has adopted another one, which has an observer of its own.
private func adopted(_ notes: Notes) -> (
  outer: Promise<Token>, inner: Promise<Token>, resolver: Resolver<Token>
) {
  let (inner, resolver) = Promise<Token>.withResolvers()
  let outer = Promise.value(1).then(on: .immediate) { _ in inner }
  outer.note("outer", in: notes)
  inner.note("inner", in: notes)
  return (outer, inner, resolver)
}

/// Creates nested handlers that return promises, as a recursive loop does.
private func tail(cancelling index: Int?) -> Scenario {
  let (source, sourceResolver) = Promise<Int>.withResolvers()
  let (last, lastResolver) = Promise<Token>.withResolvers()
  let notes = Notes()
  let inner = source.then(on: .immediate) { _ in last }
  let middle = source.then(on: .immediate) { _ in inner }
  let outer = source.then(on: .immediate) { _ in middle }
  let all = [outer, middle, inner]
  for (number, promise) in all.enumerated() { promise.note("\(number)", in: notes) }
  let third: () -> Void =
    if let index {
      { all[index].cancel() }
    } else {
      { for (number, promise) in all.enumerated() { promise.note("late\(number)", in: notes) } }
    }
  return Scenario([{ sourceResolver.fulfill(1) }, { lastResolver.fulfill(Token()) }, third]) {
    for (number, promise) in all.enumerated() {
      promise.note("end\(number)", in: notes)
      let names = ["\(number)", "end\(number)"] + (index == nil ? ["late\(number)"] : [])
      if promise.state == "pending" { return "promise \(number) is pending" }
      if !notes.agree(names, with: promise.state).0 {
        return "promise \(number) is \(promise.state), but heard: \(notes.text)"
      }
      if promise.state != "value", number > index ?? -1 {
        return "promise \(number) is \(promise.state)"
      }
    }
    return nil
  }
}

/// Creates four promises that adopt one another, while the innermost is settled or the outermost is
/// cancelled.
///
/// Those at `indices`, counted from the outermost, adopt on threads of their own, and the others
/// before that. Only the engine retains those in the middle; others may observe them.
private func row(
  adopting indices: [Int], cancels: Bool = false, isObserved: Bool = false
) -> Scenario {
  let (innermost, resolver) = Promise<Token>.withResolvers()
  let notes = Notes()
  let gates = (0..<3).map { _ in Promise<Int>.withResolvers() }
  var next = innermost
  for gate in gates.reversed() {
    let inner = next
    if isObserved { inner.note("middle", in: notes) }
    next = gate.promise.then(on: .immediate) { _ in inner }
  }
  let outermost = next
  next = innermost
  outermost.note("before", in: notes)
  for index in (0..<3).reversed() where !indices.contains(index) {
    gates[index].resolver.fulfill(1)
  }
  return Scenario(
    indices.map { index in { gates[index].resolver.fulfill(1) } }
      + [{ if cancels { outermost.cancel() } else { resolver.fulfill(Token()) } }]
  ) {
    resolver.fulfill(Token())
    let outcome = cancels ? "cancelled" : "value"
    return expect(
      (outermost.state == outcome, "the outermost is \(outermost.state)"),
      notes.agree(["before"], with: outcome),
      (
        !isObserved || notes.heard(by: "middle") == Array(repeating: outcome, count: 3),
        "heard: \(notes.text)"
      ))
  }
}

private func cycle(of count: Int, cancels: Bool = false, isObserved: Bool = true) -> Scenario {
  let sources = (0..<count).map { _ in Promise<Int>.withResolvers() }
  let notes = Notes()
  let promises = Box<[Promise<Int>]>([])
  let all = sources.enumerated().map { index, source in
    source.promise.then(on: .immediate) { _ in promises.value[(index + 1) % count] }
  }
  promises.value = all
  if isObserved {
    for (index, promise) in all.enumerated() { promise.note("\(index)", in: notes) }
  }
  return Scenario([
    { sources[0].resolver.fulfill(1) }, { sources[1].resolver.fulfill(1) },
    {
      if count > 2 { sources[2].resolver.fulfill(1) }
      if cancels { all[0].cancel() }
    },
  ]) {
    promises.value = []
    for (index, promise) in all.enumerated() {
      if promise.state == "pending" {
        return "promises are \(all.map(\.state)), heard: \(notes.text)"
      }
      if isObserved, !notes.agree(["\(index)"], with: promise.state).0 {
        return "promise \(index) is \(promise.state), but heard: \(notes.text)"
      }
      if promise.state != "cycle", !cancels { return "promise \(index) is \(promise.state)" }
    }
    return nil
  }
}
