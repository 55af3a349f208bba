import MigrateKit

/// Promises in arrays and properties.
extension Pair {
  static let lists: [Pair] =
    [
      (
        "let both = when(fulfilled: [first(), second()])\n  _ = both\n  return .value(())",
        [Rule.waitLost]
      ),
      ("_ = when(fulfilled: [first(), second()])\n  return .value(())", [.waitLost]),
      ("let all = [first(), second()]\n  return when(fulfilled: all).asVoid()", []),
      ("var all = [first()]\n  all.append(second())\n  return when(fulfilled: all).asVoid()", []),
      ("var all = [first()]\n  all += [second()]\n  return when(fulfilled: all).asVoid()", []),
      (
        """
        let some = [first()]
          var all = some
          all.append(second())
          return when(fulfilled: all).asVoid()
        """, []
      ),
      (
        """
        let some = [first()]
          var all = some
          all.append(second())
          return when(fulfilled: some).asVoid()
        """, [.waitLost]
      ),
    ].map { body, rules in
      Pair(
        "array of promises: \(body.prefix { $0 != "\n" })",
        """
        import PromiseKit
        func first() -> Promise<Int> { load(1) }
        func second() -> Promise<Int> { load(2) }
        @MainActor func both() -> Promise<Void> {
          when(fulfilled: first(), second()).asVoid()
        }
        """,
        """
        import PromiseKit
        func first() -> Promise<Int> { load(1) }
        func second() -> Promise<Int> { load(2) }
        @MainActor func both() -> Promise<Void> {
          \(body)
        }
        """,
        finds: rules)
    } + [
      Pair(
        "results in an array",
        """
        import PromiseKit
        @MainActor func sum() -> Promise<Int> {
          when(fulfilled: [first(), second()]).map { numbers in
            log.write(numbers)
            return numbers[0] + numbers[1]
          }
        }
        """,
        """
        @MainActor func sum() async throws -> Int {
          async let one = first()
          async let two = second()
          let numbers = try await [one, two]
          log.write(numbers)
          return numbers[0] + numbers[1]
        }
        """,
        finds: []),
      Pair(
        "promises appended in a loop", rowsBefore,
        """
        @MainActor func rows(_ ids: [Int]) async throws -> [Row] {
          try await withThrowingTaskGroup(of: (Int, Row).self) { group in
            for (index, id) in ids.enumerated() { group.addTask { (index, try await load(id)) } }
            var rows: [(Int, Row)] = []
            for try await row in group { rows.append(row) }
            return rows.sorted { $0.0 < $1.0 }.map(\\.1)
          }
        }
        """,
        finds: []),
      Pair(
        "promises appended in a loop, one after the other", rowsBefore,
        """
        @MainActor func rows(_ ids: [Int]) async throws -> [Row] {
          var rows: [Row] = []
          for id in ids { rows.append(try await load(id)) }
          return rows
        }
        """,
        finds: [.becameSequential]),
      Pair(
        "array changed by a callback",
        """
        import PromiseKit
        @MainActor func listen() -> Promise<Void> {
          var names: [String] = []
          bus.listen { name in
            log(name)
            names.append(name)
          }
          return bus.end().done { show(names) }
        }
        """,
        """
        @MainActor func listen() async throws {
          var names: [String] = []
          bus.listen { log($0) }
          try await bus.end()
          show(names)
        }
        """,
        finds: [.effectLost]),
      Pair(
        "promise added to a copy of the array",
        """
        import PromiseKit
        @MainActor func all() -> Promise<Void> {
          var all = [first()]
          all.append(second())
          return when(fulfilled: all).asVoid()
        }
        """,
        """
        import PromiseKit
        @MainActor func all() -> Promise<Void> {
          let some = [first()]
          var all = some
          all.append(second())
          return when(fulfilled: some).asVoid()
        }
        """,
        finds: [.waitLost]),
    ]
    + [
      ("tick = warm()\n    await tick.value\n    log.write(\"warm\")", []),
      ("tick = warm()\n    log.write(\"warm\")", [Rule.waitLost]),
      ("tick = warm()\n    await other.value\n    log.write(\"warm\")", [.waitLost]),
    ].map { body, rules in
      Pair(
        "guarantee in a property: \(body.dropFirst(14).prefix { $0 != "\n" })",
        """
        import PromiseKit
        final class Clock: UIViewController {
          var tick: Guarantee<Void>
          var other: Guarantee<Void>
          func start() -> Guarantee<Void> {
            tick = warm()
            return tick.done { self.log.write("warm") }
          }
          func warm() -> Guarantee<Void> { Guarantee { heater.start($0) } }
        }
        """,
        """
        import PromiseKit
        final class Clock: UIViewController {
          var tick: Guarantee<Void>
          var other: Guarantee<Void>
          func start() async {
            \(body)
          }
          func warm() -> Guarantee<Void> { Guarantee { heater.start($0) } }
        }
        """,
        finds: rules)
    }

  private static let rowsBefore = """
    import PromiseKit
    @MainActor func rows(_ ids: [Int]) -> Promise<[Row]> {
      var rows: [Promise<Row>] = []
      for id in ids { rows.append(load(id)) }
      return when(fulfilled: rows)
    }
    """
}
