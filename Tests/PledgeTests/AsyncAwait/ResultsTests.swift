@Suite struct ResultsTests {
  @Test func results_comeInOrderOfCompletion() async {
    let inputs = (0..<3).map { _ in Promise<Int>.withResolvers() }
    let results = Promise.results(of: inputs.map(\.promise))
    inputs[2].resolver.fulfill(2)
    inputs[0].resolver.reject(Boom())
    inputs[1].resolver.fulfill(1)
    var seen: [Int?] = []
    for await result in results { seen.append(try? result.get()) }
    #expect(seen == [2, nil, 1])
  }

  @Test func results_ofNothing_endAtOnce() async {
    var count = 0
    for await _ in Promise<Int>.results(of: []) { count += 1 }
    #expect(count == 0)
  }

  @Test func results_leavingTheLoop_cancelsTheRest() async {
    let (pending, _resolver) = Promise<Int>.withResolvers()
    for await result in Promise.results(of: [.value(1), pending]) {
      #expect((try? result.get()) == 1)
      break
    }
    await #expect(throws: CancellationError.self) { try await pending.value }
    #expect(!_resolver.isPending)
  }
}
