import Dispatch
import Pledge
import Testing

/// A caller of a coalescer that joins while the last other caller is being removed.
@Suite(.apart) struct CoalescedCallers {
  @Test func whoJoins_isNotCancelledAlongWithTheOthers() throws {
    let coalescer = RequestCoalescer<Int, Int>()
    for _ in 0..<5_000 {
      let (work, resolver) = Promise<Int>.withResolvers()
      let others = (0..<2).map { _ in coalescer.promise(for: 1) { work } }
      let group = DispatchGroup()
      for other in others { DispatchQueue.global().async(group: group) { other.cancel() } }
      let joined = coalescer.promise(for: 1) { .value(2) }
      group.wait()
      resolver.fulfill(1)
      #expect([1, 2].contains(try joined.wait()))
    }
    #expect(coalescer.count == 0)
  }
}
