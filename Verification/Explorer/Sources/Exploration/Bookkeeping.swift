// What programs note down. ThreadSanitizer does not see this module: only the thread that has the
// baton touches any of it, and the sanitizer does not see the baton.

/// A value that is counted as long as it lives.
package final class Token: @unchecked Sendable {
  nonisolated(unsafe) private static var living = 0
  nonisolated(unsafe) private static var generation = 0

  /// How many tokens of this run are alive.
  static var count: Int { living }

  static func beginRun() { (living, generation) = (0, generation + 1) }

  private let generation: Int

  @inline(never)
  package init() {
    generation = Token.generation
    Token.living += 1
  }

  @inline(never)
  deinit { if generation == Token.generation { Token.living -= 1 } }
}

/// What handlers heard, in order.
package final class Notes: @unchecked Sendable {
  private var heard: [String] = []

  package init() {}

  package var lines: [String] {
    @inline(never) get { heard }
  }

  @inline(never)
  package func add(_ line: String) { heard.append(line) }

  @inline(never)
  package func removeAll() { heard = [] }

  /// The lines that begin with the word `name`, without it.
  package func heard(by name: String) -> [String] {
    lines.filter { $0.hasPrefix(name + " ") }.map { String($0.dropFirst(name.count + 1)) }
  }
}

/// A variable that closures share.
package final class Box<Value>: @unchecked Sendable {
  private var content: Value

  package init(_ value: Value) { content = value }

  package var value: Value {
    @inline(never) get { content }
    @inline(never) set { content = newValue }
  }
}
