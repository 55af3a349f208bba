import Pledge
import PledgeTesting
import Testing

// The recipes of Cookbook.md that update a screen.

@Suite struct CookbookScreens {
  @Test @MainActor func cellsOfOneUser_shareTheirImage() async throws {
    let images = makeImages(clock: TestClock())
    let cells = [ImageCell(), ImageCell()]
    for cell in cells { cell.show(User(), from: images) }
    for cell in cells {
      try await waitUntil { cell.image != nil }
      #expect(cell.image?.byteCount == 3)
    }
    let requests = CallCounter()
    let avatar = images.promise(for: User()) {
      requests.call()
      return .value(Avatar(byteCount: 1))
    }
    #expect(try await avatar.value.byteCount == 3)
    try requests.expectNever()
  }

  @Test @MainActor func likeThatIsRefused_isTakenBack() async throws {
    let (saved, resolver) = Promise<Void>.withResolvers()
    let button = LikeButton { _ in saved }
    button.tapped()
    #expect(button.isLiked)
    resolver.reject(Offline())
    try await waitUntil { button.message != nil }
    #expect(!button.isLiked)
  }

  @Test @MainActor func likeThatIsSuperseded_changesNothing() async throws {
    let saves = Recorder<Bool>()
    let (second, resolver) = Promise<Void>.withResolvers()
    let button = LikeButton { isLiked in
      saves.record(isLiked)
      return isLiked ? .never : second
    }
    button.tapped()
    try await waitUntil { saves.events.count == 1 }
    button.tapped()
    try await waitUntil { saves.events.count == 2 }
    resolver.fulfill()
    _ = try await second.value
    #expect(!button.isLiked && button.message == nil)
    #expect(saves.events == [true, false])
  }

  @Test @MainActor func banner_triesAgain() async throws {
    let calls = CallCounter()
    let list = NewsList { calls.call() == 1 ? .rejected(Offline()) : .value(["rain"]) }
    list.refresh()
    #expect(list.isLoading)
    try await waitUntil { list.banner != nil }
    #expect(!list.isLoading)
    list.banner?.retry()
    try await waitUntil { !list.isLoading }
    #expect(list.news == ["rain"] && list.banner == nil)
  }
}
