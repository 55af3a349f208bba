import Foundation
import Pledge
import PledgeFoundation
import Synchronization
import Testing

@Suite struct Bug {
  final class Producer: Sendable {
    let resolver: Mutex<Resolver<Int>?>
    init(_ r: Resolver<Int>) { resolver = Mutex(r) }
  }
  @Test func resolverLetGoByOnCancel_isCancelled() async throws {
    let (p, producer) = {
      let (p, r) = Promise<Int>.withResolvers()
      let producer = Producer(r)
      r.onCancel { [weak producer] in producer?.resolver.withLock { $0 = nil } }
      return (p, producer)
    }()
    p.cancel()
    await #expect(throws: CancellationError.self) { try await p.value }
    _ = producer
  }
}
