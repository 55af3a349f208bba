@testable import PledgeDiagnostics

extension Promise {
  fileprivate func passedOn() -> Promise { map(on: .immediate) { $0 } }
}

extension Promise where Value == Int {
  fileprivate func doubled() -> Promise { map(on: .immediate) { $0 * 2 } }
}

extension TraceTests {
  /// The lines of operators.
  @Suite struct LocationTests {
    #if os(Linux)
      @Test func extensionsOfTheProgram_arePlaces() throws {
        try tracing { trace in
          let promise = Promise<Int>.never
          let passing = promise.passedOn()
          let passedOn = try #require(trace.pendingTree().node(passing.id)?.location)
          #expect(passedOn.line == 4 && passedOn.operation == "map")
          #expect(passedOn.function?.contains("passedOn") == true)
          let doubling = promise.doubled()
          let doubled = try #require(trace.pendingTree().node(doubling.id)?.location)
          #expect(doubled.line == 8 && doubled.operation == "map")
          #expect(doubled.function?.contains("doubled") == true)
        }
      }

      @Test func lines_areLookedUpForTheCallAndTheOperatorOnly() throws {
        try tracing { trace in
          let promise = Promise<Int>.never
          let line = #line + 1
          let mapped = promise.map(on: .immediate) { $0 }
          let record = try #require(trace.snapshot().records.values.first { $0.id == mapped.id })
          let finder = LocationFinder()
          #expect(finder.location(of: record.callStack)?.line == line)
          #expect(finder.location(of: record.callStack)?.operation == "map")
          #expect(finder.lookupCount <= 3)
        }
      }
    #endif

    @Test(arguments: [
      // Thenable.mapped, in an extension of the library
      "$s6Pledge8ThenablePAAE6mappedyAA7PromiseVyqd__GAA13HandlerTargetV_qd__5ValueQzYbKctlF",
      // A closure in the body of a type, Cell.settleOperator, Promise.init(cell:), Cell.deinit
      "$s6Pledge4CellC14settleOperatorySbAA9RejectionCSgF",
      "$s6Pledge7PromiseV4cellACyxGAA4CellC_tcfC", "$s6Pledge4CellCfD",
      // A private function whose file has an E in its hash
      "$s17PledgeDiagnostics5TraceC6record33_3E2224E2436290DBAC515FFAAAB9523ALLyyF",
      // Another module of the library
      "$s6Pledge7PromiseV0A10FoundationE4loadyyF", "$s6Pledge7PromiseV16PledgeFoundationE4loadyyF",
      "$s16PledgeFoundation4loadyyF",
    ])
    func nameOfTheLibrary(_ name: String) {
      // An abbreviated name is a case of doubt.
      #expect(MangledName.isOfLibrary(name) == !name.contains("0A10"))
    }

    @Test(arguments: [
      // Extensions of the program: plain, constrained, of a nested type
      "$s6Pledge7PromiseV5fetchE4loadyyF", "$s6Pledge7PromiseV5fetchSiRszlE4loadyyF",
      "$s6Pledge7PromiseV5fetchs5ErrorRzlE4loadyyF", "$s6Pledge7LimiterC5StateV5fetchE4loadyyF",
      // An operator that the optimizer has adapted to its caller
      "$s6Pledge8ThenablePAAE6mappedyAA7PromiseVyqd__GAA13HandlerTargetV_qd__5ValueQzYbKctlFTG5",
      // Other modules, C, and nothing
      "$s5fetch4mainyyF", "$s8PledgeUp4mainyyF", "$sSa6appendyyxnF", "start_thread", "", "$s",
      "$s6Pl",
    ])
    func nameThatMayBeOfTheProgram(_ name: String) {
      #expect(!MangledName.isOfLibrary(name))
    }
  }
}
