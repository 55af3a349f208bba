@testable import PledgeDiagnostics

@Suite struct RecordTableTests {
  @Test(arguments: [1, 2, 3]) func randomChanges_findTheSameAsDictionaries(seed: UInt64) {
    var random = Generator(state: seed)
    var table = RecordTable()
    var records: [Int: PromiseDiagnostics.PromiseID] = [:]
    var living: [PromiseDiagnostics.PromiseID: Int] = [:]
    for number in 1...20_000 {
      // Few identifiers, so that they are reused.
      let id = PromiseDiagnostics.PromiseID(
        rawValue: UInt.random(in: 1...3_000, using: &random) * 16)
      switch Int.random(in: 0..<5, using: &random) {
      case 0, 1:
        let moment = Moment(time: 0, thread: 1)
        _ = table.insert(Record(number: number, id: id, kind: .handler, made: moment))
        (records[number], living[id]) = (id, number)
      case 2:
        let position = table.position(of: id)
        #expect(position.map { table[at: $0].number } == living.removeValue(forKey: id))
        position.map { table.release($0) }
      default:
        let oldest = number - Int.random(in: 1...4_000, using: &random)
        let removed = table.remove(max(oldest, 0))
        let id = records.removeValue(forKey: oldest)
        #expect(removed?.id == id)
        if let id, living[id] == oldest { living[id] = nil }
      }
    }
    #expect(table.numbers == records.keys.sorted())
    #expect(Set(table.living.map(\.number)) == Set(living.values))
    for (number, id) in records {
      #expect(table[number]?.id == id)
      #expect(table.position(of: id).map { table[at: $0].number } == living[id])
    }
  }
}

/// A linear congruential generator.
private struct Generator: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state ^ state >> 29
  }
}
