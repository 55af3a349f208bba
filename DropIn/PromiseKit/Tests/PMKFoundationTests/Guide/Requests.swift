import Foundation
import PMKFoundation
import PledgeTesting
import PromiseKit
import XCTest

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// The examples of the article on requests, with the declarations that they assume.

private enum GuideError: Error {
  case noJSON
}

/// An API in the style of a library without promises.
extension URLSession {
  fileprivate func json(
    from url: URL, completion: @escaping (Swift.Result<[String: Any], Error>) -> Void
  ) {
    dataTask(with: url) { data, _, error in
      if let error { return completion(.failure(error)) }
      let json = data.flatMap { try? JSONSerialization.jsonObject(with: $0) as? [String: Any] }
      completion(json.map { .success($0) } ?? .failure(GuideError.noJSON))
    }.resume()
  }
}

extension URLSession {
  fileprivate func responseJSON(
    _: PMKNamespacer, with url: URL
  ) -> Promise<(json: [String: Any], response: URLResponse)> {
    dataTask(.promise, with: url).validate().compactMap { data, response in
      guard let json = try JSONSerialization.jsonObject(with: data) as? [String: Any] else {
        return nil
      }
      return (json, response)
    }
  }
}

private struct Scanner {
  func scan(_ completion: @escaping (Data?, String?, Error?) -> Void) {
    DispatchQueue.global().async { completion(Data(), "text", nil) }
  }
}

private final class Screen {
  let session = URLSession(configuration: .ephemeral)
  let users: URL
  let news: URL
  let scanner = Scanner()
  private let hasShown: (String) -> Void

  init(_ url: URL, news: URL? = nil, _ hasShown: @escaping (String) -> Void) {
    (users, self.news) = (url, news ?? url)
    self.hasShown = hasShown
  }

  func show(_ user: [String: Any], _ news: [String: Any]) {
    hasShown("\(user["answer"] ?? "") \(news["answer"] ?? "")")
  }
  func show(_ image: Data?, _ text: String?) { hasShown(text ?? "nothing") }
  func show(_ error: Error) { hasShown("\(type(of: error))") }

  func load() {
    firstly {
      session.responseJSON(.promise, with: users)
    }.then { user, _ in
      self.session.responseJSON(.promise, with: self.news).map { (user, $0.json) }
    }.done { user, news in
      self.show(user, news)
    }.catch { error in
      self.show(error)
    }
  }

  func json(from url: URL) -> Promise<[String: Any]> {
    Promise { seal in session.json(from: url, completion: seal.resolve) }
  }

  func scan() -> Promise<(image: Data?, text: String?)> {
    Promise { seal in
      scanner.scan { image, text, error in seal.resolve((image, text), error) }
    }
  }

  func text() -> Promise<String?> { scan().map(\.text) }

  func both() -> Promise<Void> {
    when(fulfilled: scan(), json(from: users)).done { scan, user in
      self.show(scan.image, scan.text)
      self.show(user, [:])
    }
  }
}

final class RequestsGuideTests: XCTestCase {
  /// Created before any thread that fulfills it.
  private var answers: XCTestExpectation!

  override func setUp() { answers = expectation(description: "shown") }
  private let shown = Recorder<String>()

  private func show(_ text: String) {
    shown.record(text)
    answers.fulfill()
  }

  private func server(_ body: String = "{\"answer\":42}") throws -> LoopbackServer {
    try LoopbackServer(body: body)
  }

  private func expect(_ texts: String...) {
    wait(for: [answers], timeout: 60)
    XCTAssertEqual(shown.events, texts)
  }

  func testRequests() throws {
    let server = try server()
    Screen(server.url, show).load()
    expect("42 42")
  }

  func testJSONOfAnotherShapeIsAnError() throws {
    let (server, other) = (try server(), try server("[1]"))
    Screen(server.url, news: other.url, show).load()
    expect("PMKError")
  }

  func testBoth() throws {
    answers.expectedFulfillmentCount = 2
    let server = try server()
    let screen = Screen(server.url, show)
    let done = expectation(description: "done")
    screen.both().catch { XCTFail("\($0)") }.finally { done.fulfill() }
    wait(for: [done], timeout: 60)
    expect("text", "42 ")
    let text = expectation(description: "text")
    screen.scan().done { image, text in XCTAssertEqual(text, "text") }
      .then { screen.text() }
      .done { XCTAssertEqual($0, "text") }
      .ensure { text.fulfill() }.cauterize()
    wait(for: [text], timeout: 60)
  }
}
