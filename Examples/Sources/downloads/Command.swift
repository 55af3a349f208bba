import Foundation
import Pledge
import PledgeDiagnostics
import PledgeFoundation
import UnreliableMirror

/// Starts two mirrors that are busy, break connections, and send wrong bytes, and downloads all
/// their files.
@main
struct Command {
  static func main() async {
    var arguments = Array(CommandLine.arguments.dropFirst())
    var traceFile: URL?
    if arguments.first == "--trace", arguments.count > 1 {
      traceFile = URL(filePath: arguments[1])
      arguments.removeFirst(2)
    }
    guard arguments.count <= 1, arguments.first?.hasPrefix("-") != true else {
      print("usage: downloads [--trace FILE.html] [FOLDER]")
      exit(64)
    }
    do {
      exit(try await run(folder: arguments.first.map { URL(filePath: $0) }, traceFile) ? 0 : 1)
    } catch {
      print("error: \(error)")
      exit(1)
    }
  }

  /// Returns whether all files are complete.
  private static func run(folder: URL?, _ traceFile: URL?) async throws -> Bool {
    let temporary = FileManager.default.temporaryDirectory.appending(path: "downloads-\(UUID())")
    let trace = traceFile.map { _ in Trace.start() }

    let files = MirroredFiles.make(count: 24)
    let mirrors = try UnreliableMirror.demonstration(of: files)
    let failed = try await download(from: mirrors.map(\.url), to: folder ?? temporary)
    if folder == nil { try FileManager.default.removeItem(at: temporary) }

    if let trace, let traceFile { try show(trace, in: traceFile) }
    return failed.isEmpty
  }

  @MainActor
  private static func download(from mirrors: [URL], to folder: URL) async throws -> [String] {
    let display = Display()
    let downloads = try Downloads(from: mirrors, to: folder) { line in display.print(line) }
    display.print("Downloading from \(mirrors.count) unreliable mirrors to \(folder.path)")
    let drawing = display.keepDrawing(downloads)
    let failed = try await downloads.run().value
    drawing.cancel()
    display.clear()
    display.print(
      "\(downloads.complete.count) of \(downloads.files.count) files are complete and correct. "
        + "The transfers:")
    for (end, count) in downloads.ends.sorted(by: { $0.value > $1.value }) {
      display.print("  \(count) × \(end)")
    }
    return failed
  }

  /// Writes a timeline of all promises and, in a terminal, opens it.
  private static func show(_ trace: Trace, in file: URL) throws {
    try trace.write(to: file)
    print("The timeline of all promises is in \(file.path): open it in a browser.")
    guard isatty(STDOUT_FILENO) == 1 else { return }
    #if os(macOS)
      let opener = "open"
    #else
      let opener = "xdg-open"
    #endif
    // On a computer without a screen, this fails, and there is nothing to open.
    _ = try? Process.run(URL(filePath: "/usr/bin/\(opener)"), arguments: [file.path])
  }
}

/// Prints lines; in a terminal, with the progress of the transfers below them.
@MainActor
final class Display {
  private let isTerminal = isatty(STDOUT_FILENO) == 1
  private var drawnLines = 0

  /// Prints a line above the progress.
  func print(_ line: String) {
    clear()
    write(line + "\n")
  }

  /// Draws the progress ten times per second, until the returned promise is cancelled.
  func keepDrawing(_ downloads: Downloads) -> Promise<Void> {
    guard isTerminal else { return .never }
    draw(downloads)
    return Promise.after(.milliseconds(100)).then { _ in self.keepDrawing(downloads) }
  }

  /// Removes the progress.
  func clear() {
    if drawnLines > 0 { write("\u{1B}[\(drawnLines)A\u{1B}[J") }
    drawnLines = 0
  }

  private func draw(_ downloads: Downloads) {
    clear()
    let (complete, all) = (downloads.complete.count, downloads.files.count)
    let lines =
      downloads.transfers.sorted { $0.key < $1.key }.map { _, transfer in
        "\(transfer.name)  \(bar(transfer.progress.fractionCompleted))  mirror \(transfer.mirror)"
      } + ["\(complete)/\(all) files    \(bar(Double(complete) / Double(max(all, 1))))"]
    write(lines.map { $0 + "\n" }.joined())
    drawnLines = lines.count
  }

  private func bar(_ fraction: Double) -> String {
    let arrow = String(repeating: "=", count: Int(30 * min(max(fraction, 0), 1))) + ">"
    return "[\(arrow.padding(toLength: 31, withPad: " ", startingAt: 0))]"
  }

  private func write(_ text: String) {
    FileHandle.standardOutput.write(Data(text.utf8))
  }
}
