import SwiftSyntax

/// Where handlers run, if a task can run there.
enum HandlerPlace: Equatable {
  case main
  /// A queue, as it is written.
  case queue(String)

  static func == (first: HandlerPlace, second: HandlerPlace) -> Bool {
    switch (first, second) {
    case (.main, .main): true
    case (.queue(let first), .queue(let second)): plain(first) == plain(second)
    default: false
    }
  }

  /// A name without `self.`.
  static func plain(_ name: String) -> Substring {
    name.hasPrefix("self.") ? name.dropFirst(5) : name[...]
  }
}

extension ChainConverter {
  /// Where the first handler of the chain runs: a task can only run there.
  func handlerPlace() throws(ConversionFailure) -> HandlerPlace {
    for link in chain.links {
      if let place = try handlerPlace(link) {
        if place != .main { try checkIsolation() }
        return place
      }
    }
    return .main
  }

  /// Where the handler of an operator runs; nil if that doesn't matter.
  func handlerPlace(_ link: Link) throws(ConversionFailure) -> HandlerPlace? {
    if link.arguments.contains(where: { $0.label == "flags" }) {
      throw ConversionFailure(.executor)
    }
    guard let executor = link.executor else {
      if [.asVoid, .cauterize].contains(link.role) { return nil }
      guard declarations.setsDefaultQueue else { return .main }
      // In PromiseKit, `map` has another default than `done`, which can be nil.
      guard library == .google else { throw ConversionFailure(.executor) }
      return .queue(".promises")
    }
    return try handlerPlace(executor)
  }

  private func handlerPlace(_ executor: Expr) throws(ConversionFailure) -> HandlerPlace {
    let queue = executor.sourceText
    if [".main", "DispatchQueue.main"].contains(queue) { return .main }
    guard !["nil", ".none"].contains(queue), !queue.contains("…"), !isOptional(executor) else {
      throw ConversionFailure(.executor)
    }
    return .queue(queue)
  }

  /// Whether a queue is declared as optional: without one, PromiseKit's handlers run where the promise
  /// settles.
  private func isOptional(_ queue: Expr) -> Bool {
    guard library == .promiseKit, let name = queue.lastName else { return false }
    let all = declarations.properties[name] ?? []
    let own = all.filter { $0.owner == chain.function.owner }
    let types =
      (own.isEmpty ? all : own).map(\.typeName)
      + chain.function.parameters.filter { $0.name == name }.map(\.type)
    return types.contains { $0.hasSuffix("?") }
  }

  /// A task on a queue can't use what is isolated to an actor, as handlers of Swift 5 could.
  private func checkIsolation() throws(ConversionFailure) {
    switch startExecutor(of: chain.function, declarations) {
    case .main, .actor: throw ConversionFailure(.executor)
    default: break
    }
  }
}
