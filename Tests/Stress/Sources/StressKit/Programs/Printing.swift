extension Program: CustomStringConvertible {
  /// The program in the form in which a test can contain it.
  package var description: String {
    "Program(kind: .\(kind), steps: [\n"
      + steps.map { "  \($0),\n" }.joined() + "])"
  }
}

extension Step: CustomStringConvertible {
  package var description: String { "Step(\(id), .\(operation))" }
}

extension Body: CustomStringConvertible {
  package var description: String {
    steps.isEmpty ? "Body(.\(result))" : "Body(.\(result), \(steps))"
  }
}

extension Place: CustomStringConvertible {
  package var description: String { ".\(rawValue)" }
}

extension Gathering: CustomStringConvertible {
  package var description: String { ".\(rawValue)" }
}
