import Pledge
import PledgeTesting
import Testing

// The examples of IsolationAndMainActor.md. That of `Photo` is from Examples/Sources/photos.

nonisolated func wordCount(of page: Page) -> Int { page.text.split(separator: " ").count }

@MainActor
final class Reader {
  private(set) var words = 0

  func open(_ name: String) {
    downloadPage(from: name)
      .map(on: .global) { page in wordCount(of: page) }
      .done { words in self.words = words }
      .ignoreErrors()
  }
}

@MainActor
final class Document {
  var title: String
  init(title: String) { self.title = title }
}

func openDocument() -> Promise<Document> {
  fetchUser(id: 7).map { @MainActor user in Document(title: user.name) }
}

/// A class that isn't `Sendable`.
private final class Draft {
  private(set) var text = ""
  func append(_ line: String) { text += line }
}

func title(of user: Promise<User>) -> Promise<String> {
  user.map { user in
    let draft = Draft()
    draft.append(user.name)
    return draft.text
  }
}

@Suite struct IsolationArticle {
  @Test @MainActor func documentOfTheMainActor_isAValueOfAPromise() async throws {
    #expect(try await openDocument().value.title == "Ada")
  }

  @Test func valueOfAnObjectThatIsNotSendable_isSent() async throws {
    try await expectFulfillment(of: title(of: fetchUser(id: 7)), with: "Ada")
  }
}
