import Exploration
import Pledge
import VirtualPlatform

/// Cancellation, dropped resolvers, and promises that cannot be cancelled.
let cancellingPrograms = [
  Program(name: "cancel-settle", make: cancelAndSettle),
  Program(name: "cancel-told", make: cancelAndBeTold),
  Program(name: "cancel-told-late", make: cancelAndListen),
  Program(name: "drop-attach", make: dropAndAttach),
  Program(name: "drop-settle", make: dropAndSettle),
  Program(name: "drop-cancel", make: dropAndCancel),
  Program(name: "cancel-chain", make: cancelAChain),
  Program(name: "cancel-two-consumers", make: cancelBothConsumers),
  Program(name: "cancel-watched", make: cancelWhileWatching),
  Program(name: "cancel-consumer-attach", make: cancelWhileAttaching),
  Program(name: "cancel-running", make: cancelWhatRuns),
  Program(name: "cancel-finally", make: cancelBeforeFinally),
  Program(name: "cancel-recover", make: cancelBeforeRecover),
  Program(name: "uncancellable", make: uncancellable),
  Program(name: "uncancellable-and-cancel", make: uncancellableAndCancel),
  Program(name: "cancel-dropped-job", make: cancelADroppedJob),
]

private func cancelAndSettle() -> Scenario {
  let (promise, resolver) = Promise<Token>.withResolvers()
  let notes = Notes()
  promise.note("before", in: notes)
  return Scenario(
    { promise.cancel() }, { resolver.fulfill(Token()) }, { promise.note("during", in: notes) },
    check: {
      promise.note("late", in: notes)
      return expect(
        (promise.state != "pending", "pending"),
        (
          notes.agree(["before", "during", "late"], with: promise.state),
          "\(promise.state), but heard: \(notes.text)"
        ))
    })
}

private func cancelAndBeTold() -> Scenario {
  let (promise, resolver) = Promise<Token>.withResolvers()
  let notes = Notes()
  let told = Box(0)
  let token = Token()
  resolver.onCancel { withExtendedLifetime(token) { told.value += 1 } }
  promise.note("before", in: notes)
  return Scenario(
    { promise.cancel() }, { promise.cancel() }, { resolver.reject(Failed()) },
    check: {
      expect(
        (told.value <= 1, "told \(told.value) times"),
        (
          promise.state != "cancelled" || told.value == 1,
          "cancelled, but the producer was not told"
        ),
        (notes.agree(["before"], with: promise.state), "\(promise.state), heard: \(notes.text)"))
    })
}

private func cancelAndListen() -> Scenario {
  let (promise, resolver) = Promise<Token>.withResolvers()
  let told = Box(0)
  return Scenario(
    { promise.cancel() },
    {
      let token = Token()
      resolver.onCancel { withExtendedLifetime(token) { told.value += 1 } }
    },
    { resolver.fulfill(Token()) },
    check: {
      expect(
        (told.value <= 1, "told \(told.value) times"),
        (
          promise.state != "cancelled" || told.value == 1,
          "cancelled, but the producer was not told"
        ))
    })
}

private func dropAndAttach() -> Scenario {
  let (promise, resolver) = Promise<Token>.withResolvers()
  let last = Box<Resolver<Token>?>(resolver)
  let notes = Notes()
  promise.note("before", in: notes)
  return Scenario(
    { last.value = nil }, { promise.map(on: .immediate) { $0 }.note("during", in: notes) },
    check: {
      expect((notes.agree(["before", "during"], with: "broken"), "heard: \(notes.text)"))
    })
}

private func dropAndSettle() -> Scenario {
  let (promise, resolver) = Promise<Token>.withResolvers()
  let one = Box<Resolver<Token>?>(resolver)
  let other = Box<Resolver<Token>?>(resolver)
  let notes = Notes()
  promise.note("before", in: notes)
  return Scenario(
    { one.value = nil },
    {
      other.value?.fulfill(Token())
      other.value = nil
    },
    check: { expect((notes.agree(["before"], with: "value"), "heard: \(notes.text)")) })
}

private func dropAndCancel() -> Scenario {
  let (promise, resolver) = Promise<Token>.withResolvers()
  let told = Box(0)
  resolver.onCancel { told.value += 1 }
  let last = Box<Resolver<Token>?>(resolver)
  let notes = Notes()
  promise.note("before", in: notes)
  return Scenario(
    { last.value = nil }, { promise.cancel() },
    check: {
      expect(
        (notes.agree(["before"], with: promise.state), "\(promise.state), heard: \(notes.text)"),
        (
          told.value == (promise.state == "cancelled" ? 1 : 0),
          "\(promise.state), but the producer was told \(told.value) times"
        ))
    })
}

private func cancelAChain() -> Scenario {
  let (source, resolver) = Promise<Token>.withResolvers()
  let notes = Notes()
  let middle = source.map(on: .immediate) { $0 }
  let last = middle.counted()
  last.note("last", in: notes)
  return Scenario(
    { last.cancel() }, { resolver.fulfill(Token()) }, { middle.note("middle", in: notes) },
    check: {
      expect(
        (notes.agree(["last"], with: last.state), "\(last.state), but heard: \(notes.text)"),
        (
          notes.agree(["middle"], with: middle.state), "\(middle.state), but heard: \(notes.text)"
        ))
    })
}

private func cancelBothConsumers() -> Scenario {
  let (source, resolver) = Promise<Token>.withResolvers()
  let told = Box(0)
  resolver.onCancel { told.value += 1 }
  let first = source.counted()
  let second = source.counted()
  return Scenario(
    { first.cancel() }, { second.cancel() },
    check: {
      withExtendedLifetime(resolver) {}
      return expect(
        (told.value == 1, "the producer was told \(told.value) times"),
        (
          [source.state, first.state, second.state] == ["cancelled", "cancelled", "cancelled"],
          "\(source.state), \(first.state), \(second.state)"
        ))
    })
}

private func cancelWhileWatching() -> Scenario {
  let (source, resolver) = Promise<Token>.withResolvers()
  let told = Box(0)
  let notes = Notes()
  resolver.onCancel { told.value += 1 }
  source.noteWatching("before", in: notes)
  let first = source.counted()
  let second = source.counted()
  return Scenario(
    { first.cancel() }, { second.cancel() }, { source.noteWatching("during", in: notes) },
    check: {
      withExtendedLifetime(resolver) {}
      return expect(
        (told.value == 1, "the producer was told \(told.value) times"),
        (
          [source.state, first.state, second.state] == ["cancelled", "cancelled", "cancelled"],
          "\(source.state), \(first.state), \(second.state)"
        ), (notes.agree(["before", "during"], with: "cancelled"), "heard: \(notes.text)"))
    })
}

private func cancelWhileAttaching() -> Scenario {
  let (source, resolver) = Promise<Token>.withResolvers()
  let notes = Notes()
  let first = source.counted()
  return Scenario(
    { first.cancel() },
    { source.counted().note("new", in: notes) },
    { resolver.fulfill(Token()) },
    check: {
      expect(
        (first.state != "pending" && source.state != "pending", "pending"),
        (notes.agree(["new"], with: source.state), "\(source.state), heard: \(notes.text)"))
    })
}

private func cancelWhatRuns() -> Scenario {
  let (source, resolver) = Promise<Int>.withResolvers()
  let notes = Notes()
  let runs = Box(0)
  let promise = source.map(on: Queues.a) { value in
    runs.value += 1
    return value
  }
  let last = promise.map(on: Queues.a) { $0 }
  last.note("last", in: notes)
  return Scenario(
    { resolver.fulfill(1) }, { last.cancel() },
    check: {
      expect(
        (runs.value <= 1, "ran \(runs.value) times"),
        (notes.agree(["last"], with: last.state), "\(last.state), but heard: \(notes.text)"))
    })
}

private func cancelBeforeFinally() -> Scenario {
  let (source, resolver) = Promise<Token>.withResolvers()
  let runs = Box(0)
  let token = Token()
  let promise = source.finally(on: .immediate) { withExtendedLifetime(token) { runs.value += 1 } }
  return Scenario(
    { promise.cancel() }, { resolver.fulfill(Token()) },
    check: {
      expect(
        (promise.state != "pending", "pending"),
        (runs.value == 1, "`finally` ran \(runs.value) times"))
    })
}

private func cancelBeforeRecover() -> Scenario {
  let (source, resolver) = Promise<Int>.withResolvers()
  let notes = Notes()
  let promise = source.recover(on: .immediate) { _ in Promise.value(2) }
  promise.note("end", in: notes)
  return Scenario(
    { source.cancel() }, { resolver.reject(Failed()) }, { promise.note("more", in: notes) },
    check: { expect((notes.agree(["end", "more"], with: "value"), "heard: \(notes.text)")) })
}

private func uncancellable() -> Scenario {
  let (source, resolver) = Promise<Token>.withResolvers()
  let notes = Notes()
  let told = Box(0)
  resolver.onCancel { told.value += 1 }
  let shield = source.uncancellable()
  shield.note("shield", in: notes)
  return Scenario(
    { shield.cancel() }, { source.counted().note("other", in: notes) },
    { resolver.fulfill(Token()) },
    check: {
      expect(
        (told.value == 0, "the producer was told"),
        (source.state == "value", "the source is \(source.state)"),
        (notes.agree(["other"], with: "value"), "heard: \(notes.text)"),
        (notes.agree(["shield"], with: shield.state), "\(shield.state), heard: \(notes.text)"))
    })
}

private func uncancellableAndCancel() -> Scenario {
  let (source, resolver) = Promise<Token>.withResolvers()
  let notes = Notes()
  let other = source.counted()
  other.note("other", in: notes)
  return Scenario(
    { source.uncancellable().cancel() }, { other.cancel() },
    check: {
      withExtendedLifetime(resolver) {}
      return expect((other.state == "cancelled", "the other one is \(other.state)"))
    })
}

private func cancelADroppedJob() -> Scenario {
  let (source, resolver) = Promise<Token>.withResolvers()
  let notes = Notes()
  let executor = SlowExecutor()
  let promise = source.map(on: executor) { $0 }
  promise.note("end", in: notes)
  return Scenario(
    { resolver.fulfill(Token()) }, { promise.cancel() }, { executor.dropAll() },
    check: {
      executor.dropAll()
      return expect(
        (
          promise.state == "cancelled" || promise.state == "broken",
          "the promise is \(promise.state)"
        ),
        (notes.agree(["end"], with: promise.state), "\(promise.state), heard: \(notes.text)"))
    })
}
