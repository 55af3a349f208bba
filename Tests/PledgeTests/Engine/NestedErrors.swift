/// Deeply nested errors, which are described and released with little stack.
@Suite(.apart) struct NestedErrors {
  private static let depth = 50_000

  @Test func nestedAny_isDescribedAndReleased() throws {
    var last = Promise<Int>.rejected(Boom())
    for _ in 0..<Self.depth { last = .any([last]) }
    let error = try #require(throws: AggregateError.self) { try last.wait() }
    #expect(error.description.hasSuffix("…"))
  }
}
