import Exploration
@_spi(DropIns) import Pledge
import VirtualPlatform

let combiningPrograms = [
  Program("race-two") { notes in
    let (first, firstResolver) = Promise<Token>.withResolvers()
    let (second, secondResolver) = Promise<Token>.withResolvers()
    let told = Box(0)
    firstResolver.onCancel { told.value += 1 }
    secondResolver.onCancel { told.value += 1 }
    let result = Promise.race([first, second])
    result.note("end", in: notes)
    return Scenario([
      { firstResolver.fulfill(Token()) }, { secondResolver.reject(Failed()) },
      { result.note("more", in: notes) },
    ]) {
      expect(
        (first.state != "pending" && second.state != "pending", "an input is pending"),
        (told.value <= 1, "\(told.value) inputs were cancelled"),
        notes.agree(["end", "more"], with: result.state))
    }
  },
  Program("race-cancel") { notes in
    let (first, firstResolver) = Promise<Token>.withResolvers()
    let (second, secondResolver) = Promise<Token>.withResolvers()
    let result = Promise.race([first, second])
    result.note("end", in: notes)
    return Scenario([{ result.cancel() }, { firstResolver.fulfill(Token()) }]) {
      withExtendedLifetime(secondResolver) {}
      return expect(
        second.isOne(of: "cancelled"), (result.state != "pending", "pending"),
        notes.agree(["end"], with: result.state))
    }
  },
  Program("race-long-lived") { notes in
    let (long, longResolver) = Promise<Token>.withResolvers()
    long.note("own", in: notes)
    let (short, shortResolver) = Promise<Token>.withResolvers()
    return Scenario([
      { Promise.race([long, short]).note("first", in: notes) },
      { Promise.race([short, long]).note("second", in: notes) },
      { shortResolver.fulfill(Token()) },
    ]) {
      guard long.state == "pending" else { return "the long-lived one is \(long.state)" }
      longResolver.fulfill(Token())
      return expect(notes.agree(["own", "first", "second"], with: "value"))
    }
  },
  Program("any-all-reject") { notes in
    let (first, firstResolver) = Promise<Token>.withResolvers()
    let (second, secondResolver) = Promise<Token>.withResolvers()
    let result = Promise.any([first, second])
    result.note("end", in: notes)
    return Scenario([
      { firstResolver.reject(Failed()) }, { secondResolver.reject(Failed()) },
      { result.cancel() },
    ]) { expect(result.isOne(of: "errors", "cancelled"), notes.agree(["end"], with: result.state)) }
  },
  Program("all-reject") { notes in
    let (first, firstResolver) = Promise<Token>.withResolvers()
    let (second, secondResolver) = Promise<Token>.withResolvers()
    let (third, thirdResolver) = Promise<Token>.withResolvers()
    let result = Promise.all([first, second, third], cancellingRest: true)
    result.note("end", in: notes)
    return Scenario([
      { firstResolver.reject(Failed()) }, { secondResolver.fulfill(Token()) }, { result.cancel() },
    ]) {
      withExtendedLifetime(thirdResolver) {}
      return expect(
        third.isOne(of: "cancelled"), result.isOne(of: "error", "cancelled"),
        notes.agree(["end"], with: result.state))
    }
  },
  Program("all-variadic") { notes in
    let (long, longResolver) = Promise<Token>.withResolvers()
    let (short, shortResolver) = Promise<Int>.withResolvers()
    long.note("own", in: notes)
    Promise.all(long, short).map(on: .immediate) { _ in 1 }.note("end", in: notes)
    return Scenario([{ longResolver.fulfill(Token()) }, { shortResolver.reject(Failed()) }]) {
      expect(notes.agree(["end"], with: "error"), notes.agree(["own"], with: "value"))
    }
  },
  Program("all-abandoned") { notes in
    let (first, firstResolver) = Promise<Token>.withResolvers()
    let (second, secondResolver) = Promise<Token>.withResolvers()
    let result = Promise.all([first, second])
    result.note("end", in: notes)
    return Scenario([
      { firstResolver.abandon() }, { secondResolver.fulfill(Token()) }, { result.cancel() },
    ]) {
      let expected = result.state == "pending" ? [] : [result.state]
      return expect(
        (notes.heard(by: "end") == expected, "\(result.state), but heard: \(notes.text)"))
    }
  },
  Program("concurrently-cancel") { notes in
    let all = (0..<3).map { _ in Promise<Token>.withResolvers() }
    let promises = all.map(\.promise)
    let result = Promise<[Token]>.all(on: .immediate, 0..<3, concurrently: 2) { promises[$0] }
    result.note("end", in: notes)
    return Scenario([{ all[0].resolver.fulfill(Token()) }, { result.cancel() }]) {
      all[2].resolver.fulfill(Token())
      return expect(
        promises[1].isOne(of: "cancelled"), result.isOne(of: "cancelled"),
        notes.agree(["end"], with: result.state))
    }
  },
]
