import Pledge
import PledgeTesting
import Testing

/// The operators on promises of sequences.
@Suite struct SequenceOperators {
  @Test(arguments: When.allCases, Place.all)
  func values(when: When, place: Place) async throws {
    let on = place.executor
    func on123<R: Sendable>(
      _ body: @escaping (Promise<[Int]>) -> Promise<R>
    ) async throws -> R {
      try await expectFulfillment(of: when.fulfill([1, 2, 3], body))
    }
    #expect(try await on123 { $0.mapValues(on: on) { $0 * 2 } } == [2, 4, 6])
    #expect(try await on123 { $0.flatMapValues(on: on) { [$0, $0] } } == [1, 1, 2, 2, 3, 3])
    #expect(try await on123 { $0.compactMapValues(on: on) { $0 == 2 ? nil : $0 } } == [1, 3])
    #expect(try await on123 { $0.filterValues(on: on) { $0 != 2 } } == [1, 3])
    #expect(try await on123 { $0.thenMap(on: on) { .value("\($0)") } } == ["1", "2", "3"])
    #expect(try await on123 { $0.thenFlatMap(on: on) { .value([$0, 0]) } } == [1, 0, 2, 0, 3, 0])
    #expect(try await on123 { $0.firstValue(on: on) { $0 > 1 } } == 2)
  }

  @Test func firstLastAndSorted() async throws {
    let promise = Promise.value([3, 1, 2])
    try await expectFulfillment(of: promise.sortedValues(), with: [1, 2, 3])
    try await expectFulfillment(of: promise.firstValue, with: 3)
    try await expectFulfillment(of: promise.lastValue, with: 2)
    let empty = Promise.value([Int]())
    try await expectRejection(of: empty.firstValue, with: PromiseError.noElement)
    try await expectRejection(of: empty.lastValue, with: PromiseError.noElement)
    try await expectRejection(
      of: promise.firstValue(on: .immediate) { $0 > 3 }, with: PromiseError.noElement)
    try await expectFulfillment(of: empty.mapValues(on: .immediate) { $0 }, with: [])
    try await expectFulfillment(of: empty.thenMap(on: .immediate) { .value($0) }, with: [])
  }

  @Test func errorsAndThrows() async throws {
    let rejected = Promise<[Int]>.rejected(Boom())
    try await expectRejection(of: rejected.mapValues { $0 }, with: Boom())
    try await expectRejection(of: rejected.thenMap { .value($0) }, with: Boom())
    let promise = Promise.value([1, 2, 3])
    try await expectRejection(
      of: promise.mapValues { n throws -> Int in
        if n == 2 { throw Boom(code: n) }
        return n
      }, with: Boom(code: 2))
    try await expectRejection(
      of: promise.thenMap { n in n == 3 ? .rejected(Boom(code: n)) : .value(n) },
      with: Boom(code: 3))
  }
}
