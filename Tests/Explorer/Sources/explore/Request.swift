import Exploration
import Glibc

struct Request {
  struct Usage: Error { let text: String }

  var programs: [Program] = []
  var search = Search.reduced(bound: 2)
  var budget = Budget()
  var cpu = 0
  var jobs = 2
  /// The arguments that specify the search, which are passed to the process of each program.
  var words: [String] = []

  /// The options that are required to replay a schedule.
  var options: [String] {
    (budget.hasStaleLoads ? ["stale"] : []) + (budget.reversesOrder ? ["reversed"] : [])
  }

  static let usage = """
    usage: explore PROGRAM… [STRATEGY] [OPTION…]
      PROGRAM   a name, the beginning of names followed by *, or all; `explore list` lists them
      STRATEGY  reduced N | bound N | random SEED STAY | replay SCHEDULE
      OPTION    limit SCHEDULES | seconds S | steps N | first | stale | reversed | trace | jobs N | cpu N
    """

  static func parse(_ arguments: [String]) throws(Usage) -> Request {
    var request = Request()
    var rest = arguments[...]
    if rest.first == "list" {
      throw Usage(text: allPrograms.map(\.name).joined(separator: "\n"))
    }
    func number<T: FixedWidthInteger>(_ type: T.Type) throws(Usage) -> T {
      guard let word = rest.popFirst(), let value = T(word) else { throw Usage(text: usage) }
      return value
    }
    while let word = rest.popFirst() {
      let start = rest.startIndex - 1
      var isSearch = true
      switch word {
      case "reduced": request.search = .reduced(bound: try number(Int.self))
      case "bound": request.search = .exhaustive(bound: try number(Int.self))
      case "random":
        request.search = .random(seed: try number(UInt64.self), stay: try number(Int.self))
      case "replay":
        guard let text = rest.popFirst(), let schedule = Schedule(text) else {
          throw Usage(text: usage)
        }
        request.search = .replay(schedule)
      case "limit": request.budget.schedules = try number(Int.self)
      case "seconds": request.budget.seconds = Double(try number(Int.self))
      case "steps": request.budget.steps = try number(Int.self)
      case "first": request.budget.stopsAtFirstFinding = true
      case "stale": request.budget.hasStaleLoads = true
      case "reversed": request.budget.reversesOrder = true
      case "trace": request.budget.traces = true
      case "cpu":
        request.cpu = try number(Int.self)
        isSearch = false
      case "jobs":
        request.jobs = max(1, try number(Int.self))
        isSearch = false
      default:
        isSearch = false
        let found = (word == "all" ? libraryPrograms : allPrograms).filter { program in
          word == "all" || program.name == word
            || (word.last == "*" && program.name.hasPrefix(word.dropLast()))
        }
        if found.isEmpty { throw Usage(text: "There is no program “\(word)”.\n\(usage)") }
        request.programs += found
      }
      if isSearch { request.words += arguments[start..<rest.startIndex] }
    }
    if request.programs.isEmpty { throw Usage(text: usage) }
    return request
  }
}
