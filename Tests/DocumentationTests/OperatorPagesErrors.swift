import Pledge
import PledgeTesting
import Testing

// The examples of the pages on operators that handle errors, and tests of what their diagrams show.

struct AccountError: Error {
  var id: Int
  var cause: any Error
}

// MARK: Catch.md

private func catching() {
  fetchNews()
    .done { news in print(news) }
    .catch(only: TimeoutError.self) { error in print("no answer within \(error.seconds) s") }
    .catch { error in print("no news: \(error)") }

  fetchNews().asVoid().catch(only: TimeoutError.self) { _ in print("slow") }.ignoreErrors()
  fetchNews().asVoid().catch(only: CancellationError.self) { _ in }.ignoreErrors()
}

// MARK: Recover.md

private func recovering() {
  let page = downloadPage(from: "mirror-1").recover { _ in downloadPage(from: "mirror-2") }
  let news = fetchNews().replaceError(only: Offline.self) { _ in ["You are offline."] }

  _ = fetchNews().replaceError(only: Offline.self) { _ in [] }
  _ = fetchNews().replaceError { _ in [] }
  _ = fetchNews().recover(only: Offline.self) { _ in .value([]) }
  _ = (page, news)
}

// MARK: MapError.md

func account(id: Int) -> Promise<User> {
  fetchUser(id: id).mapError { error in
    error is CancellationError ? error : AccountError(id: id, cause: error)
  }
}

func isReachable() -> Promise<Bool> {
  fetchNews().mapResult { result in
    switch result {
    case .success: true
    case .failure: false
    }
  }
}

private func mapping() {
  _ = fetchUser(id: 7).mapError { error in AccountError(id: 7, cause: error) }
  _ = fetchUser(id: 7).mapResult { result in result }
}

// MARK: Finally.md

private func cleaningUp(_ spinner: Spinner, _ connection: Connection) {
  fetchNews()
    .done { news in print(news) }
    .catch { error in print("no news: \(error)") }
    .finally { print("hide the spinner") }

  _ = connection.get("a").finallyThen { connection.close() }
}

@MainActor private func hiding(_ spinner: Spinner) {
  fetchNews().finally { spinner.hide() }.ignoreErrors()
}

extension Spinner {
  fileprivate func hide() { isVisible = false }
}

@Suite struct OperatorPagesErrors {
  @Test func catch_isSkippedOrHandlesTheError() async throws {
    catching()
    let steps = Recorder<String>()
    await fetchNews()
      .done { _ in steps.record("done") }
      .catch { _ in steps.record("catch") }
      .finally { steps.record("finally") }
      .value
    #expect(steps.events == ["done", "finally"])

    let others = Recorder<String>()
    await Promise<[String]>.rejected(Offline())
      .done { _ in others.record("done") }
      .catch(only: TimeoutError.self) { _ in others.record("only") }
      .catch { _ in others.record("catch") }
      .value
    #expect(others.events == ["catch"])
  }

  @Test func recover_replaces_andItsFailureStaysInTheChain() async throws {
    recovering()
    let replaced = Promise<Int>.rejected(Offline()).recover { _ in .value(2) }
    try await expectFulfillment(of: replaced, with: 2)
    let failed = Promise<Int>.rejected(Offline()).recover { _ in .rejected(ServerError.notFound) }
    try await expectRejection(of: failed, with: ServerError.notFound)
    let cancelled = Promise<Int>.rejected(CancellationError()).replaceError(with: 3)
    #expect(await cancelled.value == 3)
  }

  @Test func mapError_translates_alsoCancellation() async throws {
    mapping()
    let translated = Promise<Int>.rejected(Offline()).mapError { AccountError(id: 7, cause: $0) }
    try await expectRejection(of: translated, with: AccountError.self)
    let cancelled = Promise<Int>.rejected(CancellationError())
      .mapError { AccountError(id: 7, cause: $0) }
    try await expectRejection(of: cancelled, with: AccountError.self)
    try await expectFulfillment(of: account(id: 7).map { $0.id }, with: 7)
    try await expectFulfillment(of: isReachable(), with: true)
  }

  @Test @MainActor func finally_runs_andItsErrorReplacesTheResult() async throws {
    let spinner = Spinner()
    spinner.isVisible = true
    cleaningUp(spinner, Connection())
    hiding(spinner)
    try await waitUntil { !spinner.isVisible }
    let page = Promise.value(7).finallyThen { Promise<Void>.rejected(Offline()) }
    try await expectRejection(of: page, with: Offline.self)
  }
}
