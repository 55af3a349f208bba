@testable import Pledge

/// A promise that adopts one and is adopted by another is released while all of them are pending,
/// if the program doesn't retain it.
///
/// Therefore, a recursive loop uses constant memory.
@Suite struct PromisesInTheMiddle {
  /// A weak reference to a cell.
  ///
  /// `@unchecked Sendable`: only the test uses it, and runs everything in place.
  private final class Weak: @unchecked Sendable {
    weak var cell: Cell?

    init(_ cell: Cell) { self.cell = cell }
  }

  /// `@unchecked Sendable`: as for `Weak`.
  private final class Row: @unchecked Sendable {
    var middles: [Weak] = []
    var resolvers: [Resolver<Void>] = []
    /// The promises that the program retains, newest last.
    var held: [Promise<Int>] = []
    let holdsCount: Int
    let last: Promise<Int>

    init(holds count: Int = 0, last: Promise<Int>) {
      holdsCount = count
      self.last = last
    }

    var livingCount: Int { middles.count { $0.cell != nil } }

    /// Returns a promise that adopts the next one when its resolver is called, as in a loop.
    func next() -> Promise<Int> {
      let (gate, resolver) = Promise<Void>.withResolvers()
      resolvers.append(resolver)
      let promise = gate.then(on: .immediate) { self.next() }
      middles.append(Weak(promise.cell))
      held.append(promise)
      if held.count > holdsCount { held.removeFirst() }
      return promise
    }

    func run(_ rounds: Int) { for _ in 0..<rounds { resolvers.removeLast().fulfill() } }
  }

  // Such a promise may remain in the innermost promise's list until the next sweep.
  @Test func adoptedAfterTheyAdopt_areReleased_butForAFew() throws {
    let (last, resolver) = Promise<Int>.withResolvers()
    var middles: [Weak] = []
    var outer = last
    for _ in 0..<500 {
      let inner = outer
      outer = Promise<Void>.value(()).then(on: .immediate) { inner }
      middles.append(Weak(outer.cell))
    }
    #expect(middles.count { $0.cell != nil } <= 64)
    resolver.fulfill(7)
    #expect(outer.state == "fulfilled: 7")
  }

  @Test func adoptedBeforeTheyAdopt_areReleased_butForTheNewest() {
    let row = Row(last: .never)
    let first = row.next()
    row.run(1000)
    #expect(row.middles.count == 1001)
    #expect(row.livingCount <= 4)
    first.ignoreErrors()
  }

  /// The program retains each promise for some rounds, and then releases it.
  @Test(arguments: [1, 10, 100]) func heldForSomeRounds_areReleasedThereafter(count: Int) {
    let row = Row(holds: count, last: .never)
    let first = row.next()
    row.run(10_000)
    #expect(row.livingCount <= 8 * count + 8)
    first.ignoreErrors()
  }

  /// A chain of adoptions: `outer`, `first`, `second`, and `inner`, each of which waits for the
  /// next.
  private struct Four {
    let outer: Promise<Int>
    let first: Promise<Int>
    let second: Promise<Int>
    let inner: Promise<Int>
    let resolver: Resolver<Int>

    /// Performs the adoptions, starting at the inner or at the outer end.
    init(innermostFirst: Bool) {
      let (inner, resolver) = Promise<Int>.withResolvers()
      let gates = (0..<3).map { _ in Promise<Void>.withResolvers() }
      let second = gates[0].promise.then(on: .immediate) { inner }
      let first = gates[1].promise.then(on: .immediate) { second }
      outer = gates[2].promise.then(on: .immediate) { first }
      (self.first, self.second, self.inner, self.resolver) = (first, second, inner, resolver)
      for gate in innermostFirst ? gates : gates.reversed() { gate.resolver.fulfill() }
    }
  }

  @Test(arguments: [false, true])
  func cancellingOneThatTheProgramHolds_sparesTheConsumersOfTheNext(innermostFirst: Bool) {
    let row = Four(innermostFirst: innermostFirst)
    let other = row.second.map(on: .immediate) { $0 + 1 }
    row.first.cancel()
    #expect(row.outer.state == "rejected: CancellationError()")
    #expect(row.first.state == "rejected: CancellationError()")
    #expect(row.second.state == "pending")
    #expect(row.inner.state == "pending")
    row.resolver.fulfill(7)
    #expect(row.second.state == "fulfilled: 7")
    #expect(other.state == "fulfilled: 8")
  }
}
