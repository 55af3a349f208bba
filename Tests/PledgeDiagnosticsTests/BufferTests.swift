@_spi(DropIns) import Pledge
@testable import PledgeDiagnostics

extension TraceTests {
  /// Traces of the process, and the events that threads have recorded and that no report has needed
  /// so far.
  @Suite struct BufferTests {
    @Test func record_hasTwoCacheLines() { #expect(MemoryLayout<Record>.stride == 128) }

    // In processes of their own, because these traces record all promises of the process.
    @Test(arguments: traces.keys.sorted()) func traceOfTheProcess(_ name: String) async {
      await #expect(processExitsWith: .success) { [name] in try await traces[name]?() }
    }
  }
}

private func passOneOn() {
  let (promise, resolver) = Promise<Int>.withResolvers()
  let mapped = promise.map(on: .immediate) { $0 }
  resolver.fulfill(1)
  withExtendedLifetime(mapped) {}
}

private let traces: [String: @Sendable () async throws -> Void] = [
  "promises that live long remain when old events are skipped": {
    let trace = Trace.start(limit: 100, capturesPlaces: false)
    let (pending, resolver) = Promise<Int>.withResolvers()
    let waiting = pending.map(on: .immediate) { $0 }
    var late: (promise: Promise<Int>, resolver: Resolver<Int>)?
    for index in 0..<30_000 {
      passOneOn()
      // Created among events that are skipped.
      if index == 10_000 { late = Promise<Int>.withResolvers() }
    }
    #expect(trace.count == 100)
    #expect(trace.forgotten == 59_903)
    let nodes = trace.pendingTree().nodes
    #expect(nodes.map(\.promise) == [pending.id, waiting.id, late?.promise.id])
    #expect(nodes.map(\.number) == [1, 2, 20_005])
    resolver.fulfill(1)
    late?.resolver.fulfill(1)
    #expect(trace.pendingTree().nodes.isEmpty)
  },
  "memory is bounded without reports, and released by a report": {
    let trace = Trace.start(limit: 1000, capturesPlaces: false)
    for _ in 0..<60_000 { passOneOn() }
    // Each round has 8 events: 30,000 promises are kept at most.
    #expect(EventBuffer.Chunk.total.load(ordering: .relaxed) < 120)
    #expect(trace.count == 1000)
    // The chunk to which this thread writes.
    #expect(EventBuffer.Chunk.total.load(ordering: .relaxed) == 1)
  },
  "largest limit keeps everything": {
    let trace = Trace.start(limit: .max, capturesPlaces: false)
    for _ in 0..<20_000 { passOneOn() }
    #expect(trace.count == 40_000)
  },
  "stop applies what is buffered, and nothing later": {
    let first = Trace.start(capturesPlaces: false)
    passOneOn()
    first.stop()
    passOneOn()
    let second = Trace.start(capturesPlaces: false)
    passOneOn()
    #expect(first.count == 2 && second.count == 2)
  },
  "threads that pass promises on are recorded in order": {
    let trace = Trace.start(limit: nil, capturesPlaces: false)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<200 {
            let (promise, resolver) = Promise<Int>.withResolvers()
            let chain = promise.map { $0 }.then { Promise.value($0).map { $0 } }
            DispatchQueue.global().async { resolver.fulfill(1) }
            _ = await chain.result
            // A report while the others record.
            if trace.count % 50 == 0 { _ = trace.pendingTree() }
          }
        }
      }
    }
    #expect(trace.pendingTree().nodes.allSatisfy { $0.operation == "await" })
    let records = trace.snapshot().records.values
    #expect(records.count { $0.kind == .resolver } == 1_600)
    #expect(!records.contains { $0.kind == .unknown })
    #expect(records.allSatisfy { $0.kind == .observer || $0.settlement != nil })
  },
  "threads that end leave their events": {
    let trace = Trace.start(limit: nil, capturesPlaces: false)
    for _ in 0..<20 {
      await withCheckedContinuation { continuation in
        Thread.detachNewThread {
          passOneOn()
          continuation.resume()
        }
      }
    }
    #expect(trace.withLog { $0.records.values.count { $0.kind == .resolver } } == 20)
  },
  "sample has one in so many roots, with all that descends": {
    let trace = Trace.start(capturesPlaces: false, samplingInterval: 10)
    var kept: [Promise<Int>] = []
    for number in 0..<1000 {
      let (promise, resolver) = Promise<Int>.withResolvers()
      kept.append(
        promise.map(on: .immediate) { $0 }.then(on: .immediate) { value in
          Promise<Int>.withResolvers().promise.recover(on: .immediate) { _ in .value(value) }
        })
      resolver.fulfill(number)
    }
    let records = trace.snapshot().records.values
    // In each chain: a resolver, two operators, and two promises in the handler.
    #expect(records.count { $0.kind == .resolver } == 200)
    #expect(records.count { $0.kind == .handler } == 300)
    #expect(records.count == 500)
    #expect(trace.pendingTree().nodes.isEmpty)
    #expect(!records.contains { $0.kind == .unknown })
  },
  // Each event reads the hook; reading must not add another wrapper to it.
  "sample is emptied by releases": {
    let trace = Trace.start(limit: nil, capturesPlaces: false, samplingInterval: 2)
    for _ in 0..<30_000 { passOneOn() }
    #expect(trace.count == 30_000)
  },
  "name outside the sample is not recorded": {
    let trace = Trace.start(capturesPlaces: false, samplingInterval: 10)
    for number in 0..<100 { Promise<Int>.withResolvers().promise.named("\(number)") }
    #expect(trace.count == 10)
  },
  "chains that begin settled are roots": {
    let trace = Trace.start(capturesPlaces: false, samplingInterval: 4)
    let chains = (0..<100).map { number in
      let first = Promise.value(number).map(on: .immediate) { $0 }.named("first")
      return [
        first.map(on: .immediate) { $0 }.map(on: .immediate) { $0 }, first.asVoid().map { 1 },
      ]
    }
    // Each with all its five promises.
    #expect(trace.count == 125)
    let snapshot = trace.snapshot()
    #expect(snapshot.ordered.count { snapshot.label(of: $0).contains("first") } == 25)
    withExtendedLifetime(chains) {}
  },
  "new trace of the process stops the one before": {
    let first = Trace.start()
    let second = Trace.start()
    #expect(!first.isRunning && second.isRunning && Trace.current === second)
    first.stop()
    let (promise, resolver) = Promise<Int>.withResolvers()
    #expect(first.count == 0 && second.count == 1)
    tracing { scoped in
      _ = Promise<Int>.withResolvers()
      #expect(scoped.count == 1 && second.count == 2)
    }
    second.stop()
    #expect(Trace.current == nil)
    resolver.fulfill(1)
    #expect(second.count == 2)
    withExtendedLifetime(promise) {}
  },
  "default limit bounds the record": {
    let trace = Trace.start(capturesPlaces: false)
    for _ in 0..<60_000 { Promise<Int>.withResolvers().resolver.fulfill(1) }
    #expect(trace.count == 50_000)
    #expect(trace.forgotten == 10_000)
  },
]
