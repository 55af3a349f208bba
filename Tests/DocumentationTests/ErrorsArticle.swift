@_spi(DropIns) import Pledge
import PledgeTesting
import Testing

// The examples of Errors.md, and tests of what it says.

private func ending() {
  fetchUser(id: 7)
    .then { user in fetchAvatar(of: user) }
    .done { avatar in print(avatar.byteCount) }
    .catch { error in print("no avatar: \(error)") }
    .finally { print("done") }
}

private func catchingOnly() {
  fetchUser(id: 7)
    .done { user in print(user.name) }
    .catch(only: TimeoutError.self) { error in print("no answer within \(error.duration)") }
    .catch(only: ServerError.notFound) { print("no such user") }
    .catch { error in print("something else: \(error)") }
}

private func recovering() {
  // A value. Nothing can fail anymore, so this is a guarantee.
  let name: Guarantee<String> = fetchUser(id: 7).map { $0.name }.replaceError { _ in "nobody" }

  // A promise.
  let page = downloadPage(from: "mirror-1").recover { _ in downloadPage(from: "mirror-2") }

  // A closure that can throw. Errors that it rethrows stay in the chain.
  let news = fetchNews().recover { error in
    guard error is Offline else { throw error }
    return .value(["You are offline."])
  }

  // The same for one type of error.
  let sameNews = fetchNews().replaceError(only: Offline.self) { _ in ["You are offline."] }

  _ = (name, page, news, sameNews)
}

private func cleaningUp(_ connection: Connection) {
  let page = connection.get("index.html").finallyThen { connection.close() }

  _ = page
}

private func validating() {
  let adult = fetchUser(id: 7)
    .validate { user in user.age >= 18 }
    .compactMap { user in user.email }

  _ = adult
}

private func reporting() {
  PromiseDiagnostics.setUnhandledRejectionHandler { rejection in
    let origin = rejection.origin.map { "\($0)" } ?? "somewhere"
    crashReporter.log("\(rejection.error), from \(origin)")
  }
}

private func cauterizing() {
  fetchNews().done { news in print(news) }.ignoreErrors()
}

private func breaking() -> Promise<Int> {
  let promise = Promise<Int> { resolver in
    legacyLoad { value in
      // Forgotten: resolver.fulfill(value)
    }
  }

  return promise
}

private func givingUp() {
  let policy = RetryPolicy.fixed(attempts: 3, delay: .seconds(1))
    .observed { attempt in print(attempt) }
  Promise.retry(policy) { fetchNews() }
    .done { news in print(news) }
    .catch(only: Offline.self) { _ in print("offline, even after three attempts") }
    .ignoreErrors()
}

/// An error that the reports can be told apart by.
private struct Marked: Error {
  let mark: String
}

@Suite struct ErrorsArticle {
  @Test func catch_seesCancellationToo() async throws {
    let (promise, _resolver) = Promise<Int>.withResolvers()
    let recorder = Recorder<Bool>()
    let chain = promise.map { $0 + 1 }
    chain.catch { recorder.record($0 is CancellationError) }
    chain.cancel()
    await recorder.reaches(1).value
    #expect(recorder.events == [true])
    withExtendedLifetime(_resolver) {}
  }

  @Test func catchOnly_passesOtherErrorsOn() async throws {
    let chain = Promise<Int>.rejected(Offline()).catch(only: TimeoutError.self) { _ in }
    try await expectRejection(of: chain, with: Offline.self)
    let handled = Promise<Int>.rejected(ServerError.notFound).catch(only: ServerError.notFound) {}
    try await expectFulfillment(of: handled)
  }

  @Test func finally_thatThrows_replacesTheOutcome() async throws {
    let chain = Promise.value(1).finally { throw Offline() }
    try await expectRejection(of: chain, with: Offline.self)
  }

  @Test func droppedResolver_breaksThePromise() async throws {
    let error = try await expectRejection(of: breaking(), with: BrokenPromiseError.self)
    #expect(error.origin?.fileID == "DocumentationTests/ErrorsArticle.swift")
  }

  @Test func validationAndCompactMap_rejectWithTheirErrors() async throws {
    let invalid = Promise.value(1).validate { $0 > 1 }
    #expect(
      try await expectRejection(of: invalid, with: PromiseError.self) == .validationFailed)
    let none = Promise.value(1).compactMap { _ in nil as Int? }
    #expect(try await expectRejection(of: none, with: PromiseError.self) == .noValue)
  }

  @Test func combinatorsThatFail_holdTheErrors() async throws {
    let none = Promise<Int>.any(.rejected(Offline()), .rejected(ServerError.notFound))
    let error = try await expectRejection(of: none, with: AggregateError.self)
    #expect(error.errors.first is Offline && error.errors.last is ServerError)

    let retried = Promise<Int>.retry(.fixed(attempts: 1)) { .rejected(Offline()) }
    try await expectRejection(of: retried, with: Offline.self)

    let empty = Promise<Int>.race([])
    #expect(try await expectRejection(of: empty, with: PromiseError.self) == .emptyInput)
  }

  // In a process of its own: the hook is one for the whole process.
  @Test func unhandledRejection_isReportedOnce() async {
    await #expect(processExitsWith: .success) {
      let reports = Recorder<String>()
      PromiseDiagnostics.setUnhandledRejectionHandler { rejection in
        if let error = rejection.error as? Marked {
          reports.record("\(error.mark) \(rejection.origin?.fileID ?? "somewhere")")
        }
      }

      // Those that look but do not handle.
      do {
        let promise = Promise<Int>.rejected(Marked(mark: "looked at"))
        _ = promise.currentResult
        let branches = [promise.tap(on: .immediate) { _ in }, promise.finally(on: .immediate) {}]
        withExtendedLifetime(branches) {}
      }
      // One branch that handles is enough.
      do {
        let promise = Promise<Int>.rejected(Marked(mark: "one branch"))
        _ = promise.map(on: .immediate) { $0 }
        promise.ignoreErrors()
      }
      // Those that handle.
      do {
        _ = await Promise<Int>.rejected(Marked(mark: "awaited")).result
        Promise<Int>.rejected(Marked(mark: "observed")).observe(on: .immediate) { _ in }
        let promise = Promise<Int>.rejected(Marked(mark: "settled"))
        _ = await Promise.allSettled([promise]).result
      }
      // A handler's throw has no known origin.
      do {
        _ = Promise.value(1).map(on: .immediate) { _ -> Int in throw Marked(mark: "thrown") }
      }
      #expect(
        reports.events == ["looked at DocumentationTests/ErrorsArticle.swift", "thrown somewhere"])
    }
  }
}
