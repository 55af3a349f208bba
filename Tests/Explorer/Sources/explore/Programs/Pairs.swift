import Exploration
@_spi(DropIns) import Pledge
import VirtualPlatform

/// Each pair of actions on one promise, on two threads at the same time: on a promise that has
/// another consumer (`pair-…`), and on one that has none (`lone-…`).
let pairPrograms: [Program] = [true, false].flatMap { isKept in
  Act.allCases.indices.flatMap { first in
    Act.allCases[first...].map { second in
      let acts = [Act.allCases[first], second]
      return Program(
        "\(isKept ? "pair" : "lone")-\(acts[0])-\(acts[1])", reports: 0...1
      ) { notes in collision(of: acts, isKept: isKept, notes) }
    }
  }
}

private enum Act: CaseIterable {
  case attach, attachOnQueue, adopt, fulfill, reject, cancel, drop, remove, shield, abandon

  var needsResolver: Bool { [.fulfill, .reject, .drop, .abandon].contains(self) }
}

private func collision(of acts: [Act], isKept: Bool, _ notes: Notes) -> Scenario {
  let (promise, resolver) = Promise<Token>.withResolvers()
  let told = Box(0)
  resolver.onCancel { told.value += 1 }
  // If no action drops the resolver, it settles the promise at the end.
  let rest = Box<Resolver<Token>?>(acts.contains(.drop) ? nil : resolver)
  let own = acts.map { Box<Resolver<Token>?>($0.needsResolver ? resolver : nil) }
  let names = Box(isKept ? ["keeper"] : [])
  if isKept { promise.note("keeper", in: notes) }
  let removed = acts.map { $0 == .remove ? promise.counted() : nil }
  let wins = Box(0)
  let wasAbandoned = Box(false)

  func body(_ index: Int) -> () -> Void {
    let name = "\(acts[index])\(index)"
    return {
      defer { own[index].value = nil }
      switch acts[index] {
      case .attach: promise.note(name, in: notes)
      case .attachOnQueue: promise.note(name, on: Queues.a, in: notes)
      case .adopt: Promise.value(1).then(on: .immediate) { _ in promise }.note(name, in: notes)
      case .fulfill: if own[index].value?.fulfill(Token()) == true { wins.value += 1 }
      case .reject: if own[index].value?.reject(Failed()) == true { wins.value += 1 }
      case .cancel: promise.cancel()
      case .drop: break
      case .remove: removed[index]?.cancel()
      case .shield: promise.uncancellable().cancel()
      case .abandon:
        own[index].value?.abandon()
        wasAbandoned.value = true
      }
    }
  }
  for (index, act) in acts.enumerated() where [.attach, .attachOnQueue, .adopt].contains(act) {
    names.value.append("\(act)\(index)")
  }
  return Scenario([body(0), body(1)]) {
    // An abandoned promise appears pending, and stays so.
    if promise.state == "pending" { rest.value?.fulfill(Token()) }
    rest.value = nil
    Explorer.runRemaining()
    let state = promise.state
    if state == "pending", !wasAbandoned.value { return "pending, heard: \(notes.text)" }
    for name in names.value {
      let heard = notes.heard(by: name)
      if heard != (state == "pending" ? [] : [state]) {
        return "\(state), but heard: \(notes.text)"
      }
    }
    for consumer in removed.compactMap({ $0 }) where consumer.state != "cancelled" {
      if consumer.state != state { return "\(state), but a consumer says \(consumer.state)" }
    }
    return expect(
      (notes.lines.count <= names.value.count, "heard: \(notes.text)"),
      (wins.value <= 1, "\(wins.value) settlements won"),
      (told.value <= 1, "the producer was told \(told.value) times"),
      (state != "cancelled" || told.value == 1, "cancelled, but the producer was not told"),
      (state != "broken" || told.value == 0, "broken, but the producer was told to stop"))
  }
}
