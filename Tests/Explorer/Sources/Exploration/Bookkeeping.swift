// What programs record. This module isn't instrumented for ThreadSanitizer, because only the thread
// that has the baton accesses its state, and the sanitizer doesn't see the baton.

/// An object that is counted while it is alive.
package final class Token: @unchecked Sendable {
  nonisolated(unsafe) private static var living = 0
  nonisolated(unsafe) private static var generation = 0

  /// The number of this run's tokens that are alive.
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

/// The events that handlers record, in order.
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

  /// Returns the lines that begin with the word `name`, without that word.
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
