import Dispatch
@_spi(DropIns) import Pledge
import PledgeTesting
import Testing

/// Promises on which the steps of a program are performed.
private final class World: Sendable {
  let promises: [Promise<Int>]
  private let resolvers: [Box<Resolver<Int>?>]
  private let taps = Recorder<Specification.Tap>()
  private let told = Recorder<Int>()

  init() {
    let (zero, zeroResolver) = Promise<Int>.withResolvers()
    let (one, oneResolver) = Promise<Int>.withResolvers()
    promises = [zero, one, zero.then(on: .immediate) { _ in one }]
    resolvers = [Box(zeroResolver), Box(oneResolver)]
    zeroResolver.onCancel { [told] in told.record(0) }
    oneResolver.onCancel { [told] in told.record(1) }
  }

  private func resolver(_ number: Int) -> Resolver<Int>? { resolvers[number].value }

  private func tap(_ number: Int, _ made: Int) -> Promise<Int> {
    promises[number].tap(on: .immediate) { [taps] result in
      taps.record(Specification.Tap(promise: made, source: number, outcome: .init(result)))
    }
  }

  /// Performs `step`; `made` contains the promises that the same thread has created.
  func perform(_ step: Step, _ made: inout [Int: Promise<Int>]) {
    switch step.act {
    case .fulfill0: resolver(0)?.fulfill(5)
    case .reject0: resolver(0)?.reject(Boom(code: 6))
    case .drop0: resolvers[0].value = nil
    case .cancel0: promises[0].cancel()
    case .tap0: made[step.made] = tap(0, step.made)
    case .recover0:
      made[step.made] = promises[0].recover(on: .immediate) { _ in Promise.value(9) }
    case .then0:
      made[step.made] = promises[0].then(on: .immediate) { [promises] _ in promises[1] }
    case .fulfill1: resolver(1)?.fulfill(7)
    case .reject1: resolver(1)?.reject(Boom(code: 8))
    case .cancel1: promises[1].cancel()
    case .tap1: made[step.made] = tap(1, step.made)
    case .then1:
      made[step.made] = promises[1].then(on: .immediate) { [promises] _ in promises[2] }
    case .cancel2: promises[2].cancel()
    case .tap2: made[step.made] = tap(2, step.made)
    case .cancelMade: made[step.made]?.cancel()
    }
  }

  func observation(_ made: [Int: Promise<Int>]) -> Observation {
    var result = Observation()
    for (number, promise) in Array(promises.enumerated()) + made.map({ ($0.key, $0.value) }) {
      result.outcomes[number] = promise.currentResult.map { .init($0) }
      promise.ignoreErrors()
    }
    for tap in taps.events { result.taps[tap.source].append(tap) }
    for number in told.events { result.cancellationsTold[number] += 1 }
    return result
  }
}

extension Specification.Outcome {
  fileprivate init(_ result: Result<Int, any Error>) {
    switch result {
    case .success(let value): self = .fulfilled(value)
    case .failure(let error as Boom): self = .rejected(error.code)
    case .failure(is CancellationError): self = .cancelled
    case .failure: self = .broken
    }
  }
}

@Suite(.apart) struct ProgramTests {
  /// Runs every sequence of four acts.
  ///
  /// Whatever the threads of a program of four acts are, each interleaving is a sequence of four
  /// acts. Therefore, these are all interleavings of all such programs.
  @Test func everyInterleaving_ofFourActs_doesWhatTheSpecificationSays() {
    var count = 0
    var differing: [[Act]] = []
    for first in Act.allCases {
      for second in Act.allCases {
        for third in Act.allCases {
          for fourth in Act.allCases {
            let acts = [first, second, third, fourth]
            let steps = Step.threads([acts])[0]
            let world = World()
            var made: [Int: Promise<Int>] = [:]
            for step in steps { world.perform(step, &made) }
            count += 1
            if world.observation(made) != Specification.outcome(of: steps) {
              differing.append(acts)
            }
          }
        }
      }
    }
    #expect(count == 50_625)
    let examples = differing.prefix(3)
    #expect(differing.count == 0, "\(examples)")
  }

  /// Runs two threads with two acts each, concurrently.
  ///
  /// The result must be one that some order of the acts, and of the work that these leave behind,
  /// can produce.
  @Test func threadsThatRace_doWhatSomeInterleavingDoes() {
    let acts = Act.allCases
    let size = acts.count
    var differing: [String] = []
    // A prime stride, so that all pairs of acts are combined.
    for number in stride(from: 0, to: size * size * size * size, by: isFullRun ? 7 : 89) {
      let program = [1, size, size * size, size * size * size].map { acts[number / $0 % size] }
      let threads = Step.threads([Array(program[..<2]), Array(program[2...])])
      let allowed = Specification.outcomes(of: threads)
      for _ in 0..<4 {
        let found = race(threads).withoutOrder
        if !allowed.contains(found) { differing.append("\(program): \(found)") }
      }
    }
    let examples = differing.prefix(3)
    #expect(differing.count == 0, "\(examples)")
  }

  private func race(_ threads: [[Step]]) -> Observation {
    let world = World()
    let arrived = Atomic(0)
    let made = Mutex<[Int: Promise<Int>]>([:])
    DispatchQueue.concurrentPerform(iterations: threads.count) { index in
      var own: [Int: Promise<Int>] = [:]
      arrived.wrappingAdd(1, ordering: .acquiringAndReleasing)
      // The threads start simultaneously if there are enough cores.
      var patience = 10_000
      while arrived.load(ordering: .acquiring) < threads.count, patience > 0 { patience -= 1 }
      for step in threads[index] { world.perform(step, &own) }
      made.withLock { [own] in $0.merge(own) { _, new in new } }
    }
    return world.observation(made.withLock { $0 })
  }
}
