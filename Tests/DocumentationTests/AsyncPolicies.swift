import Pledge
import Testing

extension User {
  static var guest: User { User(id: 0, name: "guest") }
}

private func loadUser(id: Int) async throws -> User { try await fetchUser(id: id).value }
private func loadPage(of user: User, number: Int) async throws -> Page { Page() }

func loadEverything() async throws -> [Page] {
  let user = try await retry(.exponential(attempts: 3, from: .milliseconds(100))) {
    try await loadUser(id: 7)
  }
  let first = try await withTimeout(.seconds(30)) { try await loadPage(of: user, number: 0) }
  let second = try await hedged(delay: .milliseconds(50)) {
    try await loadPage(of: user, number: 1)
  }
  let rest = try await concurrentMap([2, 3, 4], limit: 2) { number in
    try await loadPage(of: user, number: number)
  }
  return [first, second] + rest
}

private func tour() async throws -> [Page] {
  let reader = try await retry(.exponential(attempts: 3, from: .milliseconds(200))) {
    try await loadUser(id: 7)
  }
  let pages = try await concurrentMap(1...20, limit: 4) { number in
    try await withTimeout(.seconds(30)) { try await loadPage(of: reader, number: number) }
  }
  return pages
}

@Suite struct AsyncPolicies {
  // In processes of their own: these have real timeouts, and other tests keep the threads busy.

  @Test func theTour_loadsAllPages() async {
    await #expect(processExitsWith: .success) {
      let pages = try await tour()
      #expect(pages.count == 20)
    }
  }

  @Test func everything_isLoaded() async {
    await #expect(processExitsWith: .success) {
      let pages = try await loadEverything()
      #expect(pages.count == 5)
    }
  }
}

func handlersThatAwait() {
  let page = fetchUser(id: 7)
    .asyncMap { user in try await loadPage(of: user, number: 0) }
    .asyncRecover { _ in try await loadPage(of: .guest, number: 0) }
  page.ignoreErrors()
}
