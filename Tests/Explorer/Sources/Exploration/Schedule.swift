/// The decisions of one run, as a text that replays it.
///
/// In `0*11,1*3~2`, thread 0 takes eleven steps and then thread 1 takes three, of which the last
/// one loads the value that was stored two stores before the latest.
package struct Schedule: Sendable {
  struct Decision: Sendable {
    var thread: Int
    var age: Int
  }

  let decisions: [Decision]

  /// Creates a schedule from `text`; nil if it isn't one.
  package init?(_ text: String) {
    var decisions: [Decision] = []
    for part in text.split(separator: ",") {
      let halves = part.split(separator: "~")
      let numbers = halves[0].split(separator: "*")
      guard halves.count <= 2, numbers.count == 2, let thread = Int(numbers[0]),
        let count = Int(numbers[1]), count > 0
      else { return nil }
      decisions += Array(repeating: Decision(thread: thread, age: 0), count: count)
      if halves.count == 2 {
        guard let age = Int(halves[1]) else { return nil }
        decisions[decisions.count - 1].age = age
      }
    }
    self.decisions = decisions
  }

  /// Returns the schedule of the run that is in progress or has just ended, and the number of its
  /// parts.
  static func current() -> (text: String, parts: Int) {
    var parts: [String] = []
    var start = 0
    while start < Scheduler.stepCount {
      let thread = Scheduler.steps[start].thread
      var end = start
      while end < Scheduler.stepCount, Scheduler.steps[end].thread == thread {
        end += 1
        if Scheduler.steps[end - 1].age != 0 { break }
      }
      let age = Scheduler.steps[end - 1].age
      parts.append("\(thread)*\(end - start)" + (age == 0 ? "" : "~\(age)"))
      start = end
    }
    return (parts.joined(separator: ","), parts.count)
  }

  /// Returns the steps of the last run, one line for each.
  static func trace() -> [String] {
    var names: [UInt: String] = [:]
    return (0..<Scheduler.stepCount).map { index in
      let step = Scheduler.steps[index]
      let address = step.access.address
      let name = names[address] ?? "#\(names.count)"
      names[address] = name
      let age = step.age == 0 ? "" : ", \(step.age) stores old"
      let place = address == 0 ? "" : " \(name)"
      return "\(index): \(Scheduler.threads[step.thread].description(step.thread))"
        + " \(step.access.kind)\(place)\(age)"
    }
  }
}
