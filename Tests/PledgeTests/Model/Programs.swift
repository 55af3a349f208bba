/// An act of a small program: promises 0 and 1 have resolvers, and promise 2 is `0.then { 1 }`.
enum Act: CaseIterable {
  case fulfill0, reject0, drop0, cancel0, tap0, recover0, then0
  case fulfill1, reject1, cancel1, tap1, then1
  case cancel2, tap2
  /// Cancels the promise that the same thread created last.
  case cancelMade
}

/// An act, and the number of the promise that it creates or that its thread has created last.
struct Step {
  let act: Act
  let made: Int

  static let none = -1

  /// Returns the steps of each thread's acts.
  static func threads(_ threads: [[Act]]) -> [[Step]] {
    var number = 3
    return threads.map { acts in
      var last = none
      return acts.map { act in
        defer { number += 1 }
        if act.makesPromise { last = number }
        return Step(act: act, made: last)
      }
    }
  }
}

extension Act {
  var makesPromise: Bool {
    switch self {
    case .tap0, .recover0, .then0, .tap1, .then1, .tap2: true
    default: false
    }
  }
}

/// The observable state after a program.
struct Observation: Hashable {
  /// The results by promise number; a pending promise has none.
  var outcomes: [Int: Specification.Outcome] = [:]
  /// The events of the taps on promises 0, 1, and 2, in order.
  var taps: [[Specification.Tap]] = [[], [], []]
  /// How often the producers of promises 0 and 1 were notified of cancellation.
  var cancellationsTold = [0, 0]

  /// The observation without the order of taps, for threads that race: a thread doesn't see which
  /// of them called first.
  var withoutOrder: Observation {
    var copy = self
    copy.taps = taps.map { $0.sorted { $0.promise < $1.promise } }
    return copy
  }
}

extension Specification {
  /// The state in which all programs start.
  static let beginning: Specification = {
    var world = Specification()
    world.make(0)
    world.make(1)
    world.derive(2, from: 0, .then(1))
    return world
  }()

  mutating func perform(_ step: Step) {
    switch step.act {
    case .fulfill0: settle(0, .fulfilled(5))
    case .reject0: settle(0, .rejected(6))
    case .drop0: drop(0)
    case .cancel0: cancel(0)
    case .tap0: derive(step.made, from: 0, .tap)
    case .recover0: derive(step.made, from: 0, .recover)
    case .then0: derive(step.made, from: 0, .then(1))
    case .fulfill1: settle(1, .fulfilled(7))
    case .reject1: settle(1, .rejected(8))
    case .cancel1: cancel(1)
    case .tap1: derive(step.made, from: 1, .tap)
    case .then1: derive(step.made, from: 1, .then(2))
    case .cancel2: cancel(2)
    case .tap2: derive(step.made, from: 2, .tap)
    case .cancelMade: if step.made != Step.none { cancel(step.made) }
    }
  }

  /// Returns the observation when one thread performs `steps`.
  static func outcome(of steps: [Step]) -> Observation {
    var world = beginning
    for step in steps {
      world.perform(step)
      while !world.work.isEmpty { world.carryOut(0) }
    }
    return world.observation
  }

  /// Returns all possible observations when threads perform `threads` concurrently.
  static func outcomes(of threads: [[Step]]) -> Set<Observation> {
    struct Moment: Hashable {
      var world: Specification
      var done: [Int]
    }
    var todo = [Moment(world: beginning, done: threads.map { _ in 0 })]
    var seen = Set(todo)
    var results: Set<Observation> = []
    func reach(_ moment: Moment) { if seen.insert(moment).inserted { todo.append(moment) } }
    while let moment = todo.popLast() {
      var isOver = true
      for index in moment.world.work.indices {
        isOver = false
        var next = moment
        next.world.carryOut(index)
        reach(next)
      }
      for (index, thread) in threads.enumerated() where moment.done[index] < thread.count {
        isOver = false
        var next = moment
        next.world.perform(thread[moment.done[index]])
        next.done[index] += 1
        reach(next)
      }
      if isOver { results.insert(moment.world.observation.withoutOrder) }
    }
    return results
  }

  private var observation: Observation {
    var result = Observation()
    for (number, node) in nodes { result.outcomes[number] = node.outcome }
    for tap in taps { result.taps[tap.source].append(tap) }
    result.cancellationsTold = (0...1).map { nodes[$0]?.cancellationsTold ?? 0 }
    return result
  }
}
