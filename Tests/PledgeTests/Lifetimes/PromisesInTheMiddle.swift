import PledgeTesting
import Testing

@testable import Pledge

/// A promise that adopts one and is adopted by another is released while all of them are pending: so a
/// recursive loop takes constant memory.
@Suite struct PromisesInTheMiddle {
  /// Holds a cell without keeping it alive.
  ///
  /// `@unchecked Sendable`: the test, which runs everything in place, has it alone.
  private final class Weak: @unchecked Sendable {
    weak var cell: Cell?
  }

  // Such a one may wait in the list of the innermost promise for the next sweep.
  @Test func adoptedAfterTheyAdopt_areReleased_butForAFew() throws {
    let (last, resolver) = Promise<Int>.withResolvers()
    var middles: [Weak] = []
    var outer = last
    for _ in 0..<500 {
      let inner = outer
      outer = Promise<Void>.value(()).then(on: .immediate) { inner }
      middles.append(Weak())
      middles.last?.cell = outer.cell
    }
    #expect(middles.count { $0.cell != nil } <= 64)
    resolver.fulfill(7)
    #expect(outer.state == "fulfilled: 7")
  }

  @Test func adoptedBeforeItAdopts_isReleased() throws {
    let (last, lastResolver) = Promise<Int>.withResolvers()
    let (source, resolver) = Promise<Void>.withResolvers()
    let (gate, open) = Promise<Void>.withResolvers()
    let middle = Weak()
    let outer = source.then(on: .immediate) {
      let inner = gate.then(on: .immediate) { last }
      middle.cell = inner.cell
      return inner
    }
    resolver.fulfill()
    #expect(middle.cell != nil)
    open.fulfill()
    #expect(middle.cell == nil)
    lastResolver.fulfill(7)
    #expect(outer.state == "fulfilled: 7")
  }
}
