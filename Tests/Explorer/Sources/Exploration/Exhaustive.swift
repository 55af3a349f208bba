/// All schedules with at most `bound` preemptions and old values, depth first.
///
/// If `isReduced` is true, only those that order conflicting accesses differently: dynamic
/// partial-order reduction by Flanagan and Godefroid, with the additional points that a bound
/// requires (Coons, Musuvathi, and McKinley).
final class Exhaustive: Strategy {
  private struct Node {
    var chosen: Int
    let previous: Int
    let enabled: UInt64
    /// How much of the bound the decisions before this one have used.
    let spent: Int
    /// Whether this is a choice among values rather than threads.
    let isAge: Bool
    var tried: UInt64
    /// The choices that don't count toward the bound.
    ///
    /// These are to continue, or, if that isn't possible, another thread that can run. Letting time
    /// advance is free only if no thread can run.
    let free: UInt64
    var untried: UInt64 = 0

    func cost(of choice: Int) -> Int { free & 1 << UInt64(choice) != 0 ? 0 : 1 }
  }

  let bound: Int
  let isReduced: Bool
  private var nodes: [Node] = []
  private var position = 0
  /// The node of each step of the run.
  private var stepNodes: [Int] = []
  private var reduction = Reduction()
  private(set) var mismatch: String?

  init(bound: Int, isReduced: Bool) {
    (self.bound, self.isReduced) = (bound, isReduced)
  }

  var name: String { "\(isReduced ? "reduced" : "bound") \(bound)" }

  func chooseThread(step: Int, previous: Int, enabled: UInt64) -> Int {
    if step == 0 {
      position = 0
      stepNodes.removeAll(keepingCapacity: true)
    }
    stepNodes.append(position)
    if position < nodes.count {
      let node = nodes[position]
      if node.isAge || node.enabled != enabled || node.previous != previous {
        mismatch =
          "not deterministic at step \(step): \(node.previous) of \(node.enabled), now"
          + " \(previous) of \(enabled)"
        return -1
      }
      position += 1
      return node.chosen
    }
    let chosen = previous >= 0 ? previous : Scheduler.preferred(enabled)
    let untimed = enabled & ~Scheduler.timed
    let free = previous >= 0 ? 1 << UInt64(previous) : untimed == 0 ? enabled : untimed
    append(
      Node(
        chosen: chosen, previous: previous, enabled: enabled, spent: spent, isAge: false,
        tried: 1 << UInt64(chosen), free: free),
      alternatives: isReduced ? 0 : enabled)
    return chosen
  }

  func chooseAge(_ count: Int) -> Int {
    let count = min(count, 8)
    if position < nodes.count {
      let node = nodes[position]
      position += 1
      if node.isAge, node.chosen < count { return node.chosen }
      mismatch = "not deterministic: \(count) values to choose from"
      return 0
    }
    let all: UInt64 = (1 << UInt64(count)) - 1
    append(
      Node(chosen: 0, previous: -1, enabled: all, spent: spent, isAge: true, tried: 1, free: 1),
      alternatives: all)
    return 0
  }

  private var spent: Int { nodes.last.map { $0.spent + $0.cost(of: $0.chosen) } ?? 0 }

  private func append(_ node: Node, alternatives: UInt64) {
    nodes.append(node)
    add(alternatives, to: nodes.count - 1)
    position += 1
  }

  /// Also schedules the choices in `mask`, as far as the bound allows.
  private func add(_ mask: UInt64, to index: Int) {
    var mask = mask & nodes[index].enabled & ~nodes[index].tried
    while mask != 0 {
      let choice = mask.trailingZeroBitCount
      mask &= mask - 1
      if nodes[index].spent + nodes[index].cost(of: choice) <= bound {
        nodes[index].untried |= 1 << UInt64(choice)
      }
    }
  }

  func advance() -> Bool {
    if isReduced {
      reduction.findConflicts { thread, step in
        let index = stepNodes[step]
        let bit: UInt64 = 1 << UInt64(thread)
        add(nodes[index].enabled & bit != 0 ? bit : .max, to: index)
      }
    }
    while var node = nodes.popLast() {
      if node.untried == 0 { continue }
      node.chosen = node.untried.trailingZeroBitCount
      node.untried &= node.untried - 1
      node.tried |= 1 << UInt64(node.chosen)
      nodes.append(node)
      return true
    }
    return false
  }
}

/// Finds the accesses of the last run whose result would differ in another order.
struct Reduction {
  private struct Place {
    var lastWrite = -1
    var lastReads: [Int]
    var writeClock: [Int]
    var readClock: [Int]
  }

  /// Calls `report` with each thread that should be tried at a step instead of the one that took
  /// it.
  mutating func findConflicts(_ report: (_ thread: Int, _ step: Int) -> Void) {
    let threadCount = Scheduler.threads.count
    let none = [Int](repeating: -1, count: threadCount)
    // For each thread, the last step of each thread that is known to precede its next one.
    var clocks = [[Int]](repeating: none, count: threadCount)
    var hasBegun = [Bool](repeating: false, count: threadCount)
    var places: [UInt: Place] = [:]
    // The first step of the uninterrupted part of the schedule that contains a step.
    var partStart = 0
    var partStarts: [Int] = []
    partStarts.reserveCapacity(Scheduler.stepCount)

    for index in 0..<Scheduler.stepCount {
      let step = Scheduler.steps[index]
      let thread = step.thread
      if index > 0, Scheduler.steps[index - 1].thread != thread { partStart = index }
      partStarts.append(partStart)
      if !hasBegun[thread] {
        hasBegun[thread] = true
        let creation = Scheduler.threads[thread].creation
        if creation >= 0 {
          // Later steps of its creator also count as earlier. This hides nothing, because the
          // creation is the last step of the creator that the new thread can know about.
          let creator = Scheduler.steps[creation].thread
          let clock = clocks[creator].map { min($0, creation) }
          join(&clocks[thread], clock)
        }
        let predecessor = Scheduler.threads[thread].predecessor
        if predecessor >= 0, hasBegun[predecessor] { join(&clocks[thread], clocks[predecessor]) }
      }
      if step.access.address != 0 {
        var place =
          places[step.access.address]
          ?? Place(lastReads: none, writeClock: none, readClock: none)
        func meet(_ rival: Int) {
          guard rival >= 0 else { return }
          let other = Scheduler.steps[rival].thread
          if other == thread || clocks[thread][other] >= rival { return }
          report(thread, rival)
          report(thread, partStarts[rival])
        }
        meet(place.lastWrite)
        if step.access.isWrite { for rival in place.lastReads { meet(rival) } }
        join(&clocks[thread], place.writeClock)
        clocks[thread][thread] = index
        if step.access.isWrite {
          join(&clocks[thread], place.readClock)
          place.lastWrite = index
          place.lastReads = none
          place.writeClock = clocks[thread]
        } else {
          place.lastReads[thread] = index
          join(&place.readClock, clocks[thread])
        }
        places[step.access.address] = place
      } else {
        clocks[thread][thread] = index
      }
    }
  }

  private func join(_ clock: inout [Int], _ other: [Int]) {
    for index in clock.indices where other[index] > clock[index] { clock[index] = other[index] }
  }
}
