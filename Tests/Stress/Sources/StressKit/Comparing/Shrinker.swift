/// Reduces a failing program to a smaller one that still fails.
package struct Shrinker {
  private let fails: (Program) -> Bool

  /// Creates a shrinker; `fails` returns whether a program still shows the fault.
  package init(fails: @escaping (Program) -> Bool) { self.fails = fails }

  /// Returns the smallest failing program found by removing steps, one at a time, also from handlers and
  /// threads.
  ///
  /// `program` itself must fail. A program without a step is valid: steps that refer to a missing
  /// promise have no effect.
  package func smallest(_ program: Program) -> Program {
    var best = program
    while let smaller = candidates(best).first(where: fails) { best = smaller }
    return best
  }

  private func candidates(_ program: Program) -> some Sequence<Program> {
    program.allSteps.lazy.map { step in
      Program(kind: program.kind, steps: program.steps.without(step.id))
    }
  }
}

extension [Step] {
  fileprivate func without(_ id: Int) -> [Step] {
    filter { $0.id != id }.map { step in
      var step = step
      switch step.operation {
      case .onCancel(let target, let steps): step.operation = .onCancel(target, steps.without(id))
      case .parallel(let threads): step.operation = .parallel(threads.map { $0.without(id) })
      default:
        if let body = step.operation.body {
          step.operation.body = Body(body.result, body.steps.without(id))
        }
      }
      return step
    }
  }
}
