import Dispatch
import Pledge
import PledgeTesting
import Testing

// The examples of Threading.md, and tests of what it says.

@MainActor
final class Badge {
  var text = ""

  func load() {
    fetchNews()
      .done { news in self.text = "\(news.count)" }
      .catch { error in self.text = "?" }
  }
}

actor Directory {
  var users: [Int: User] = [:]

  func refresh(id: Int) -> Promise<Void> {
    fetchUser(id: id).done { user in self.users[id] = user }
  }
}

func showName(in label: Label) {
  fetchUser(id: 7)
    .map { user in user.name.uppercased() }
    .done { @MainActor name in label.text = name }
    .ignoreErrors()
}

private func namingExecutors(user: User) {
  let images = DispatchQueue(label: "images")
  let size = fetchAvatar(of: user)
    .map(on: images) { avatar in thumbnail(of: avatar) }
    .map(on: .global) { thumbnail in thumbnail.byteCount }

  _ = size
}

struct LoopExecutor: PromiseExecutor {
  let loop: Loop

  func enqueue(_ job: PromiseJob) {
    loop.execute { job.run() }
  }
}

@MainActor
func refresh(_ badge: Badge) {
  fetchNews().done { news in badge.text = "\(news.count)" }.ignoreErrors()
  // Always runs before the handler, which needs the main actor.
  badge.text = "…"
}

private func immediately() -> Promise<Int> {
  let next = Promise.value(41).map(on: .immediate) { number in number + 1 }

  return next
}

private func blocking() {
  do {
    let user = try fetchUser(id: 7).wait()
    print(user.name)
  } catch {
    print("no user: \(error)")
  }
}

@MainActor
private final class MainState {
  func onMain(_ value: Int) -> Bool { ExecutorProbe.main.isCurrent }
  nonisolated func anywhere(_ value: Int) -> Bool { ExecutorProbe.main.isCurrent }
}

private actor Isolated {
  func capturesItself() -> Promise<Bool> {
    Promise<Void>().map {
      _ = self
      let isolation: (any Actor)? = #isolation
      return isolation != nil
    }
  }

  func capturesNothing() -> Promise<Bool> {
    Promise<Void>().map {
      let isolation: (any Actor)? = #isolation
      return isolation != nil
    }
  }
}

@Suite struct ThreadingArticle {
  @MainActor @Test func closureInMainActorCode_runsOnTheMainActor() async throws {
    let onMain = try await Promise.value(1).map { _ in ExecutorProbe.main.isCurrent }.value
    #expect(onMain)
  }

  @Test func closureInNonisolatedCode_runsElsewhere() async throws {
    let onMain = try await Promise.value(1).map { _ in ExecutorProbe.main.isCurrent }.value
    #expect(!onMain)
  }

  @Test func explicitMainActorClosure_runsOnTheMainActor() async throws {
    let onMain = try await Promise.value(1)
      .map { @MainActor _ in ExecutorProbe.main.isCurrent }.value
    #expect(onMain)
  }

  @MainActor @Test func function_runsWhereItIsIsolated() async throws {
    let state = MainState()
    #expect(try await Promise.value(1).map(state.onMain).value)
    #expect(try await !Promise.value(1).map(state.anywhere).value)
    let stored: @Sendable (Int) -> Bool = { _ in ExecutorProbe.main.isCurrent }
    #expect(try await !Promise.value(1).map(stored).value)
  }

  @Test func closureInAnActor_isIsolatedIfItUsesTheActor() async throws {
    let actor = Isolated()
    #expect(try await actor.capturesItself().value)
    #expect(try await !actor.capturesNothing().value)
  }

  @MainActor @Test func codeAfterTheCall_runsBeforeTheHandler() async throws {
    let badge = Badge()
    refresh(badge)
    #expect(badge.text == "…")
    try await waitUntil { badge.text != "…" }
    #expect(badge.text == "1")
  }

  @Test func immediateHandlerOfASettledPromise_runsInPlace() {
    guard case .success(42) = immediately().currentResult else {
      Issue.record("not settled in place")
      return
    }
  }

  @Test func ownExecutor_runsTheHandler() async throws {
    let executor = LoopExecutor(loop: Loop())
    #expect(try await Promise.value(41).map(on: executor) { $0 + 1 }.value == 42)
  }

  @Test func executorThatDropsTheJob_breaksThePromise() async throws {
    let executor = ManualExecutor()
    let promise = Promise.value(41).map(on: executor) { $0 + 1 }
    executor.dropAll()
    let error = try await expectRejection(of: promise, with: BrokenPromiseError.self)
    #expect(error.reason == .executorDroppedJob)
  }

  @Test func handlersOnASerialExecutor_runInOrder() async throws {
    let queue = DispatchQueue(label: "serial")
    let recorder = Recorder<Int>()
    let (promise, resolver) = Promise<Void>.withResolvers()
    for index in 0..<1000 { promise.done(on: queue) { recorder.record(index) }.ignoreErrors() }
    resolver.fulfill()
    for index in 1000..<2000 { promise.done(on: queue) { recorder.record(index) }.ignoreErrors() }
    await recorder.reaches(2000).value
    #expect(recorder.events == Array(0..<2000))
  }

  @Test func waitThatDeadlocks_throws() async throws {
    let queue = DispatchQueue(label: "serial")
    let waiting = Promise(on: queue) { try Promise.value(1).map(on: queue) { $0 }.wait() }
    try await expectRejection(of: waiting, with: DeadlockError.self)
  }
}
