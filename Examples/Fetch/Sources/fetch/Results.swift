import ArgumentParser
import FetchEngine
import FetchSupport
import Foundation
import PledgeFoundation
import Synchronization

/// The result of each file.
final class Results: Sendable {
  /// The reason why a run ended.
  enum Ending {
    case byItself
    case deadline
    case signal(Int32)
  }

  private struct State {
    var outcomes: [Outcome] = []
    var ending = Ending.byItself
    var elapsed = Duration.zero
  }

  let files: [Download]
  private let state = Mutex(State())

  init(_ files: [Download]) { self.files = files }

  var fileCount: Int { files.count }
  var outcomes: [Outcome] { state.withLock { $0.outcomes } }
  var ending: Ending {
    get { state.withLock { $0.ending } }
    set { state.withLock { $0.ending = newValue } }
  }
  var elapsed: Duration {
    get { state.withLock { $0.elapsed } }
    set { state.withLock { $0.elapsed = newValue } }
  }

  func note(_ event: Event) {
    guard case .ended(let outcome) = event else { return }
    state.withLock { $0.outcomes.append(outcome) }
  }
}

extension Fetch {
  /// Prints the summary; throws the exit status unless all files are complete.
  func report(_ results: Results) throws {
    let outcomes = results.outcomes
    let text =
      json
      ? try JSONReport(results).text + "\n"
      : Summary.render(
        outcomes.map(\.row), fileCount: results.fileCount, elapsed: results.elapsed,
        width: Terminal.width(STDOUT_FILENO), isComplete: allRows)
    let writing = Result { try StandardStreams.writeOutput(text) }
    switch results.ending {
    case .signal(let number): throw ExitCode(128 + number)
    case .deadline: throw ExitCode(1)
    case .byItself:
      try writing.get()
      let saved = outcomes.count { if case .saved = $0 { true } else { false } }
      if saved < results.fileCount { throw ExitCode(1) }
    }
  }
}

extension Outcome {
  var row: SummaryRow {
    switch self {
    case .saved(let saved, let time):
      SummaryRow(
        name: saved.file.name, size: saved.byteCount, time: time, tries: saved.requests,
        mirror: saved.source.flatMap { mirror in
          mirror.port.map { "\(mirror.host() ?? ""):\($0)" } ?? mirror.host()
        },
        status: .done)
    case .failed(let file, let error, let time):
      SummaryRow(
        name: file.name, size: nil, time: time, tries: (error as? GivenUp)?.errors.count ?? 1,
        mirror: nil, status: .failed(reason(for: error)))
    }
  }
}

/// The output of --json: one object in a stable format.
private struct JSONReport: Encodable {
  struct File: Encodable {
    var name: String
    var url: String?
    var status: String
    var bytes: Int?
    var seconds: Double
    var requests: Int?
    var source: String?
    var error: String?
    var httpStatus: Int?
  }

  var files: [File]
  var filesTotal: Int
  var seconds: Double
  var ending: String

  init(_ results: Results) {
    filesTotal = results.fileCount
    seconds = results.elapsed / .seconds(1)
    ending =
      switch results.ending {
      case .byItself: "done"
      case .deadline: "deadline"
      case .signal(let number): "signal \(number)"
      }
    files = results.outcomes.map { outcome in
      switch outcome {
      case .saved(let saved, let time):
        File(
          name: saved.file.name, url: Self.url(saved.file),
          status: saved.requests == 0 ? "present" : "saved",
          bytes: saved.byteCount, seconds: time / .seconds(1), requests: saved.requests,
          source: saved.source?.absoluteString)
      case .failed(let file, let error, let time):
        File(
          name: file.name, url: Self.url(file), status: "failed", seconds: time / .seconds(1),
          error: reason(for: error), httpStatus: Self.status(of: error))
      }
    }
    let ended = Set(files.map(\.name))
    for file in results.files where !ended.contains(file.name) {
      files.append(
        File(name: file.name, url: Self.url(file), status: "unfinished", seconds: seconds))
    }
  }

  /// The first URL of a file, without a password.
  private static func url(_ file: Download) -> String? {
    file.mirrors.first.map { Address.withoutCredentials($0.absoluteString) }
  }

  var text: String {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
  }

  private static func status(of error: any Error) -> Int? {
    switch error {
    case let error as HTTPStatusError: error.status
    case let error as GivenUp: error.errors.last.flatMap(status)
    default: nil
    }
  }
}
