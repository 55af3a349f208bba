import Foundation
import PMKFoundation
import PromiseKit

/// A class without isolation or locks, as in code of the Swift 5 language mode.
final class Screen {
  var lines: [String] = []

  func load() -> Promise<Void> {
    firstly {
      when(fulfilled: greeting(), price())
    }.then { greeting, price in
      after(seconds: 0.01).map { "\(greeting), \(price)" }
    }.done { line in
      self.lines.append(line)
    }
  }

  private func greeting() -> Promise<String> {
    Process.echo("hello").compactMap {
      String(data: $0.out.fileHandleForReading.readDataToEndOfFile(), encoding: .utf8)
    }
    .map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
  }
}

extension Process {
  static func echo(_ text: String) -> Promise<(out: Pipe, err: Pipe)> {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/echo")
    process.arguments = [text]
    return process.launch(.promise)
  }
}

let screen = Screen()
screen.load().done {
  guard screen.lines == ["hello, 42"] else { fatalError("\(screen.lines)") }
  print("client: \(screen.lines[0])")
  exit(0)
}.catch { error in
  fatalError("\(error)")
}
dispatchMain()
