import Foundation
import Pledge
import Synchronization

/// The program `gateway`, run in a separate process.
final class GatewayProcess: Sendable {
  let output = OutputText()
  let errors = OutputText()
  let status: Promise<Int32>
  private let identifier: Int32

  init(_ arguments: String...) throws {
    let process = Process()
    // The tests and the program are in the same folder.
    let tests = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
    process.executableURL = tests.appending(component: "gateway")
    process.arguments = arguments
    process.standardOutput = output.pipe
    process.standardError = errors.pipe
    let (status, end) = Promise<Int32>.withResolvers()
    self.status = status
    process.terminationHandler = { process in
      end.fulfill(process.terminationReason == .exit ? process.terminationStatus : -1)
    }
    try process.run()
    identifier = process.processIdentifier
  }

  deinit { kill(identifier, SIGKILL) }

  /// The address of the gateway, which the program prints.
  var address: Promise<String> {
    output.text(containing: "/ in").map { text in
      text.split(separator: " ").first { $0.hasPrefix("http") }.map { String($0.dropLast()) } ?? ""
    }
  }

  func send(_ signal: Int32) { kill(identifier, signal) }
}

final class OutputText: Sendable {
  private struct State {
    var text = ""
    var waiting: [(String, Resolver<String>)] = []
  }

  let pipe = Pipe()
  private let state = Mutex(State())

  init() {
    pipe.fileHandleForReading.readabilityHandler = { [weak self] handle in
      let data = handle.availableData
      if data.isEmpty { handle.readabilityHandler = nil }
      self?.append(String(decoding: data, as: UTF8.self))
    }
  }

  func append(_ text: String) { update { $0 += text } }

  /// Returns a promise for the output, fulfilled when it contains `part`.
  func text(containing part: String) -> Promise<String> {
    let (promise, resolver) = Promise<String>.withResolvers()
    state.withLock { $0.waiting.append((part, resolver)) }
    update { _ in }
    return promise
  }

  private func update(_ change: (inout String) -> Void) {
    let (text, found) = state.withLock { state in
      change(&state.text)
      let text = state.text
      let found = state.waiting.filter { text.contains($0.0) }
      state.waiting.removeAll { text.contains($0.0) }
      return (text, found)
    }
    for (_, resolver) in found { resolver.fulfill(text) }
  }
}
