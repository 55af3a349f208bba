// Writes a Swift file with random chains of PromiseKit. Usage: generator COUNT SEED

struct Random {
  var state: UInt64

  mutating func next(_ bound: Int) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return Int((value ^ (value >> 31)) % UInt64(bound))
  }
}

/// Writes one function with a chain.
struct Writer {
  var random: Random
  var step = 100
  var lines: [String] = []
  var names = 0

  mutating func id() -> Int {
    step += 1
    return step
  }

  mutating func name() -> String {
    names += 1
    return "v\(names)"
  }

  mutating func source(_ input: String) -> String {
    switch random.next(3) {
    case 0: "world.start(\(id()), \(input))"
    case 1: "firstly { world.start(\(id()), \(input)) }"
    default: "firstly {\n      world.start(\(id()), \(input))\n    }"
    }
  }

  mutating func link() -> String {
    let value = name()
    switch random.next(13) {
    case 0: return ".then { \(value) in self.world.start(\(id()), \(value)) }"
    case 1:
      return """
        .then { \(value) -> Promise<Int> in
              self.world.log("then \(id()) \\(\(value))")
              return self.world.start(\(id()), \(value))
            }
        """
    case 2: return ".map { $0 + 1 }"
    case 3: return ".map { \(value) in try self.world.compute(\(id()), \(value)) }"
    case 4: return ".get { \(value) in self.world.log(\"get \\(\(value))\") }"
    case 5:
      let inner = name()
      return """
        .then { \(value) in
              self.world.start(\(id()), \(value)).map { \(inner) in \(inner) - 1 }
            }
        """
    case 6:
      return """
        .map { \(value) -> Int in
              let doubled\(id()) = \(value) * 2
              // The sum of three.
              return doubled\(step) + \(value)
            }
        """
    case 7:
      return """
        .map { \(value) -> Int in
              guard \(value) % 3 != 0 else { return try self.world.compute(\(id()), 1) }
              self.world.log("rest \(id())")
              return \(value)
            }
        """
    case 8:
      return """
        .map { \(value) -> Int in
              switch \(value) % 3 {
              case 0: return \(value) + 1
              case 1: self.world.log("one \(id())")
              default: throw Failure.wrong
              }
              return \(value)
            }
        """
    case 9:
      return """
        .then { \(value) -> Promise<Int> in
              guard \(value) % 3 != 0 else { return Promise(error: Failure.broken(\(id()))) }
              return .value(\(value))
            }
        """
    case 10: return ".then { \(value) in nested(\(value)) }"
    case 11: return ".map { \(value) -> Int in count += \(value); return count }"
    default: return ".map { [$0, $0 + 1] }.mapValues { $0 * 2 }.map { $0.reduce(0, +) }"
    }
  }

  mutating func ending(returns: Bool) -> [String] {
    var result: [String] = []
    if returns {
      switch random.next(6) {
      case 0: result.append(".ensure { self.world.log(\"ensure \(id())\") }")
      case 1:
        result.append(
          ".recover { error -> Promise<Int> in self.world.start(\(id()), 0) }")
      case 2: result.append(".recover(policy: .allErrors) { _ in self.world.start(\(id()), 0) }")
      case 3:
        let failure = "Promise(error: Failure.broken(\(id())))"
        result.append(".recover { error -> Promise<Int> in \(failure) }")
      case 4:
        result.append(
          """
          .recover { error -> Promise<Int> in
                guard case Failure.wrong = error else { throw error }
                return self.world.start(\(id()), 0)
              }
          """)
      default: break
      }
    } else {
      let value = name()
      result.append(".done { \(value) in self.world.log(\"done \\(\(value))\") }")
      for _ in 0..<random.next(3) {
        result.append(".ensure { self.world.log(\"ensure \(id())\") }")
      }
      let policy = random.next(2) == 0 ? "" : "(policy: .allErrors)"
      result.append(".catch\(policy) { error in self.world.log(\"catch \\(error)\") }")
      if random.next(2) == 0 { result.append(".finally { self.world.log(\"finally \(id())\") }") }
    }
    return result
  }

  /// An operator, and those in its handler, with handlers on a queue.
  static func onQueue(_ line: String) -> String {
    var line = line
    let names = "then map get done mapValues recover ensure catch finally"
    for name in names.split(separator: " ") {
      line = line.replacing(".\(name) {", with: ".\(name)(on: self.world.queue) {")
      line = line.replacing(".\(name)(policy", with: ".\(name)(on: self.world.queue, policy")
    }
    return line
  }

  mutating func function(_ number: Int, returns: Bool) {
    lines.append(
      "  func chain\(number)(_ input: Int) \(returns ? "-> Promise<Int> " : ""){")
    lines.append("    world.log(\"head \(number)\")")
    lines.append("    var count = 0\n    count += 1")
    let nested = "world.start(\(id()) + count, value)"
    lines.append("    func nested(_ value: Int) -> Promise<Int> { \(nested) }")
    lines.append("    \(returns ? "return " : "")\(source("input"))")
    let isOnQueue = random.next(2) == 0
    let operators = (0..<(1 + random.next(5))).map { _ in link() } + ending(returns: returns)
    for line in operators { lines.append("    \(isOnQueue ? Self.onQueue(line) : line)") }
    if !returns { lines.append("    world.log(\"end \(number)\")") }
    lines.append("  }\n")
  }
}

@main struct Generator {
  static func main() {
    let arguments = CommandLine.arguments.dropFirst().compactMap { UInt64($0) }
    let count = Int(arguments.first ?? 40)
    var writer = Writer(random: Random(state: arguments.last ?? 1))
    print("import PromiseKit\nimport Support\n\nfinal class Generated {")
    print("  let world: World\n  init(_ world: World) { self.world = world }\n")
    for number in 0..<count { writer.function(number, returns: number % 2 == 0) }
    print(writer.lines.joined(separator: "\n"))
    print("}\n\n/// The random chains, ready to run.\npublic func generated() -> [Scenario] {\n  [")
    for number in 0..<count {
      if number % 2 == 0 {
        print("    Scenario(\"chain \(number)\", result: { Generated($0).chain\(number)(1) }),")
      } else {
        print("    Scenario(\"chain \(number)\") { Generated($0).chain\(number)(1) },")
      }
    }
    print("  ]\n}")
  }
}
