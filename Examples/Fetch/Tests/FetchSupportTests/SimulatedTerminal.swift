import Synchronization

@testable import FetchSupport

/// A terminal that breaks its lines again when it is resized, as most terminals do.
///
/// It understands what a progress display writes: text, `\r`, `\n`, moving the cursor up, and
/// clearing from the cursor to the end.
final class SimulatedTerminal: Sendable {
  private struct State {
    var size: Terminal.Size
    /// The lines without breaks, including those that were scrolled off the screen.
    var lines: [[Character]] = [[]]
    /// The position of the cursor: a line, and an offset in it.
    var line = 0
    var offset = 0

    /// The start of each row of the screen, and of those above it.
    var rows: [(line: Int, start: Int)] {
      lines.indices.flatMap { line in
        // A terminal that breaks a line at the cursor puts the cursor on the next row.
        let count = lines[line].count
        let end = max(1, count + (line == self.line && offset == count ? 1 : 0))
        return stride(from: 0, to: end, by: size.columns).map { (line, $0) }
      }
    }

    /// The index of the cursor's row.
    var row: Int { rows.lastIndex { $0.line == line && $0.start <= offset } ?? 0 }
  }

  private let state: Mutex<State>

  init(columns: Int, rows: Int) {
    state = Mutex(State(size: Terminal.Size(columns: columns, rows: rows)))
  }

  var size: Terminal.Size {
    get { state.withLock { $0.size } }
    set { state.withLock { $0.size = newValue } }
  }

  /// All lines, including those that were scrolled off the screen.
  var lines: [String] { state.withLock { $0.lines.map { String($0) } } }

  func write(_ text: String) {
    state.withLock { state in
      var rest = text.unicodeScalars.map(Character.init)[...]
      while let character = rest.popFirst() {
        switch character {
        case "\r": state.offset = state.rows[state.row].start
        case "\n":
          if state.line == state.lines.count - 1 { state.lines.append([]) }
          (state.line, state.offset) = (state.line + 1, 0)
        case "\u{1B}":
          let sequence = rest.prefix { !$0.isLetter }
          rest = rest.dropFirst(sequence.count)
          if rest.popFirst() == "A" {
            let rows = state.rows
            // The cursor can't leave the screen.
            let top = max(0, rows.count - state.size.rows)
            let row = max(top, state.row - (Int(String(sequence.dropFirst())) ?? 1))
            (state.line, state.offset) = rows[row]
          } else {
            state.lines.removeSubrange((state.line + 1)...)
            state.lines[state.line].removeSubrange(state.offset...)
          }
        default:
          state.lines[state.line].replaceSubrange(
            state.offset..<min(state.offset + 1, state.lines[state.line].count), with: [character])
          state.offset += 1
        }
      }
    }
  }
}
