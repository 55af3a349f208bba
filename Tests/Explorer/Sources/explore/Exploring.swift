import CExplorer
import Exploration
import Glibc
import Pledge
import VirtualPlatform

/// Explores one program in this process, and prints its findings and its row of the table.
///
/// Returns whether the program met its expectations.
func explore(_ program: Program, _ request: Request) -> Bool {
  explorer_stay_on_one_cpu(Int32(request.cpu))
  let reports = Notes()
  PromiseDiagnostics.setUnhandledRejectionHandler { reports.add("\($0)") }
  VirtualTasks.begin()
  var outcome = Session.explore(
    program.name, request.search, request.budget, make: { program.make(Notes()) }
  ) {
    defer { reports.removeAll() }
    if program.reports.contains(reports.lines.count) { return nil }
    return "\(reports.lines.count) unhandled rejections were reported: \(reports.text)"
  }

  if case .replay = request.search {
  } else {
    outcome.findings.removeAll { $0.isSuspect && !isConfirmed($0, of: program, request) }
  }
  let wanted = outcome.findings.filter { finding in
    program.mustFind.map { finding.message.hasPrefix($0) } ?? false
  }
  let isFine =
    wanted.count == outcome.findings.count && wanted.isEmpty == (program.mustFind == nil)
  for finding in outcome.findings where program.mustFind == nil || wanted.isEmpty {
    print("finding: \(program.name): \(finding.message)")
    print("  in \(finding.count) of \(outcome.schedules) schedules; the shortest of them:")
    let options = request.options.map { " \($0)" }.joined()
    print("  explore \(program.name) replay '\(finding.schedule)'\(options)")
  }
  if program.mustFind != nil, wanted.isEmpty {
    print("finding: \(program.name): what has to be found was not")
  }
  let verdict =
    isFine
    ? program.mustFind == nil ? "ok" : "found, as it must be"
    : "\(outcome.findings.count) FOUND"
  print(
    row(
      program.name, outcome.strategy, "\(outcome.schedules)" + (outcome.isComplete ? "" : "+"),
      "\(outcome.longest)", "\(Double(Int(outcome.seconds * 100)) / 100)", verdict))
  fflush(nil)
  return isFine
}

/// Whether a new process, which no abandoned run has affected, finds the same.
private func isConfirmed(_ finding: Finding, of program: Program, _ request: Request) -> Bool {
  let output = "/tmp/explore-\(getpid())-replay"
  defer { unlink(output) }
  let arguments = ["explore", program.name, "replay", finding.schedule] + request.options
  guard let child = start(arguments, output: output) else { return true }
  var status: Int32 = 0
  waitpid(child, &status, 0)
  return status != 0
}

func row(_ cells: String...) -> String {
  let widths = [-30, -12, 9, 6, 7, -20]
  let columns = zip(cells, widths).map { cell, width in
    let space = String(repeating: " ", count: max(0, abs(width) - cell.count))
    return width < 0 ? " \(cell)\(space)" : " \(space)\(cell)"
  }
  return "|" + columns.joined()
}

/// Explores each program in its own process, with as many processes at a time as there are jobs.
///
/// Returns whether all programs met their expectations.
func exploreAll(_ request: Request) -> Bool {
  print(row("program", "strategy", "schedules", "steps", "seconds", "verdict"))
  fflush(nil)
  var waiting = request.programs[...]
  var running: [pid_t: (name: String, job: Int, output: String)] = [:]
  var free = Array((0..<request.jobs).reversed())
  var failed: [String] = []
  while !waiting.isEmpty || !running.isEmpty {
    while !free.isEmpty, let program = waiting.popFirst() {
      let job = free.removeLast()
      let output = "/tmp/explore-\(getpid())-\(program.name)"
      let arguments = ["explore", program.name, "cpu", "\(job)"] + request.words
      if let child = start(arguments, output: output) {
        running[child] = (program.name, job, output)
      } else {
        print("finding: \(program.name): cannot be started")
        failed.append(program.name)
        free.append(job)
      }
    }
    var status: Int32 = 0
    let child = wait(&status)
    guard let (name, job, output) = running.removeValue(forKey: child) else { continue }
    free.append(job)
    print(contents(of: output), terminator: "")
    unlink(output)
    if status != 0 { failed.append(name) }
    if status != 0 && status != 1 << 8 {
      print(row(name, "", "", "", "", "DIED (status \(status))"))
    }
    fflush(nil)
  }
  let count = request.programs.count
  let names = failed.joined(separator: " ")
  let verdict = failed.isEmpty ? ": nothing found" : ", \(failed.count) with findings: \(names)"
  print("\(count) programs\(verdict)")
  return failed.isEmpty
}

private func start(_ arguments: [String], output: String) -> pid_t? {
  var actions = posix_spawn_file_actions_t()
  posix_spawn_file_actions_init(&actions)
  defer { posix_spawn_file_actions_destroy(&actions) }
  posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
  posix_spawn_file_actions_adddup2(&actions, 1, 2)
  var words = arguments.map { strdup($0) } + [nil]
  defer { for word in words { free(word) } }
  var child = pid_t()
  let failure = posix_spawn(&child, "/proc/self/exe", &actions, nil, &words, environ)
  return failure == 0 ? child : nil
}

private func contents(of path: String) -> String {
  guard let file = fopen(path, "r") else { return "" }
  defer { fclose(file) }
  var text: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 1 << 16)
  while true {
    let count = fread(&buffer, 1, buffer.count, file)
    if count == 0 { break }
    text += buffer[..<count]
  }
  return String(decoding: text, as: UTF8.self)
}
