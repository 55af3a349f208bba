/// A context whose task-local key is private, as in a logging library.
private enum Foreign {
  enum Conduct { case restoresOnce, restoresTwice, restoresNever }

  struct Context: Sendable {
    var name = "none"
    var conduct = Conduct.restoresOnce
  }

  @TaskLocal private static var key = Context()

  static let captures = CallCounter()
  static let restores = CallCounter()

  static var current: Context { key }
  static func with<T>(_ context: Context, _ body: () throws -> T) rethrows -> T {
    try $key.withValue(context) { try body() }
  }

  /// Registered once for all handlers of the process.
  static let isPropagated: Void = TaskLocals.propagate(
    capturing: {
      captures.call()
      return current
    },
    restoring: { context, work in
      restores.call()
      switch context.conduct {
      case .restoresOnce: with(context, work)
      case .restoresTwice:
        with(context, work)
        work()
      case .restoresNever: break
      }
    })
}

/// `TaskLocals.propagate(capturing:restoring:)`.
///
/// It runs in a process of its own, because handlers of other tests would also capture the context.
@Suite struct CapturedContextTests {
  @Test func contextsFollow_inAProcessOfTheirOwn() async {
    await #expect(processExitsWith: .success) { try await HandlersWithContexts().runAll() }
  }
}

private struct HandlersWithContexts {
  init() { Foreign.isPropagated }

  func runAll() async throws {
    try await handler_runsOnce_whateverTheFunctionDoes()
    try await handlerThatIsCalledImmediately_capturesNothing()
    try await handlersInTheirOwnContext_restoreNothing()
    try await chainInAnotherContext_restoresOnce()
    try await contextThatAHandlerBinds_isCapturedByTheNext()
  }

  func handlerThatIsCalledImmediately_capturesNothing() async throws {
    let before = (Foreign.captures.count, Foreign.restores.count)
    let seen = Foreign.with(.init(name: "here")) {
      Promise.value(1).map(on: .immediate) { _ in Foreign.current.name }
    }
    #expect((Foreign.captures.count, Foreign.restores.count) == before)
    try await expectFulfillment(of: seen, with: "here")
  }

  func handlersInTheirOwnContext_restoreNothing() async throws {
    let before = Foreign.restores.count
    let seen = Foreign.with(.init(name: "here")) {
      let (promise, resolver) = Promise<Void>.withResolvers()
      let seen = promise.map(on: .immediate) { Foreign.current.name }
        .map(on: .immediate) { [$0, Foreign.current.name] }
      resolver.fulfill()
      return seen
    }
    #expect(Foreign.restores.count == before)
    try await expectFulfillment(of: seen, with: ["here", "here"])
  }

  func chainInAnotherContext_restoresOnce() async throws {
    let before = Foreign.restores.count
    let (promise, resolver) = Promise<[String]>.withResolvers()
    let seen = Foreign.with(.init(name: "written")) {
      (0..<10).reduce(promise) { promise, _ in
        promise.map(on: .immediate) { $0 + [Foreign.current.name] }
      }
    }
    Foreign.with(.init(name: "settled")) { _ = resolver.fulfill([]) }
    #expect(Foreign.restores.count == before + 1)
    try await expectFulfillment(of: seen, with: Array(repeating: "written", count: 10))
  }

  func contextThatAHandlerBinds_isCapturedByTheNext() async throws {
    let (promise, resolver) = Promise<Void>.withResolvers()
    let (inner, settler) = Promise<Void>.withResolvers()
    let seen = Foreign.with(.init(name: "outer")) {
      promise.then(on: .immediate) {
        let outside = inner.map(on: .immediate) { Foreign.current.name }
        let inside = Foreign.with(.init(name: "inner")) {
          // Settles both in the wrong context for one of them.
          let inside = inner.map(on: .immediate) { Foreign.current.name }
          settler.fulfill()
          return inside
        }
        return Promise.all(outside, inside)
      }
    }
    resolver.fulfill()
    let (outside, inside) = try await seen.value
    #expect([outside, inside] == ["outer", "inner"])
  }

  func handler_runsOnce_whateverTheFunctionDoes() async throws {
    for conduct in [Foreign.Conduct.restoresTwice, .restoresNever] {
      let ran = CallCounter()
      let (promise, resolver) = Promise<Void>.withResolvers()
      let seen = Foreign.with(.init(name: "odd", conduct: conduct)) {
        promise.map(on: .immediate) {
          ran.call()
          return Foreign.current.name
        }
      }
      resolver.fulfill()
      try await expectFulfillment(of: seen, with: conduct == .restoresNever ? "none" : "odd")
      try ran.expectOnce()
    }
  }
}
