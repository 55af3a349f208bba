import Foundation
import Pledge
import PledgeFoundation
import XCTest

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// The Pledge examples of the article on requests.

private struct User: Decodable, Sendable { let answer: Int }
private struct News: Decodable, Sendable { let answer: Int }

private struct Screen: Sendable {
  let session = URLSession(configuration: .ephemeral)
  let users: URL
  let news: URL
  let show: @Sendable (String) -> Void

  func show(_ user: User, _ news: News) { show("\(user.answer) \(news.answer)") }
  func show(_ error: Error) { show("\(type(of: error))") }

  func json<Value: Decodable & Sendable>(_: Value.Type, from url: URL) -> Promise<Value> {
    session.load(url).validate().map { data, _ in try JSONDecoder().decode(Value.self, from: data) }
  }

  func load() {
    json(User.self, from: users)
      .then { user in self.json(News.self, from: self.news).map { (user, $0) } }
      .done { user, news in self.show(user, news) }
      .catch { error in self.show(error) }
  }
}

final class RequestsInPledgeTests: XCTestCase {
  func testRequests() throws {
    let server = try LoopbackServer(body: "{\"answer\":42}")
    let shown = expectation(description: "shown")
    let screen = Screen(users: server.url, news: server.url) { text in
      XCTAssertEqual(text, "42 42")
      shown.fulfill()
    }
    screen.load()
    wait(for: [shown], timeout: 60)
  }
}
