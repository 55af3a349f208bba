import Pledge
import PledgeTesting
import Testing

// The recipes of Cookbook.md that update a screen, each with a test.

// MARK: images
@MainActor
final class ImageCell {
  private(set) var image: Avatar?
  private let latest = LatestOnly<Avatar>()

  /// Shows the avatar of `user`; the cell can show another user's before it has arrived.
  func show(_ user: User, from images: RequestCoalescer<User, Avatar>) {
    image = nil
    latest.run { images.promise(for: user) { fetchAvatar(of: user) } }
      .done(weak: self) { cell, image in cell.image = image }
      .ignoreErrors()
  }
}

func makeImages(clock: any Clock<Duration> = ContinuousClock()) -> RequestCoalescer<User, Avatar> {
  RequestCoalescer(caching: .init(lifetime: .seconds(600), capacity: 200), clock: clock)
}

// MARK: optimistic update
@MainActor
final class LikeButton {
  private(set) var isLiked = false
  private(set) var message: String?
  private let save: @Sendable (Bool) -> Promise<Void>
  private let saves = LatestOnly<Void>()
  private var isLikedOnServer = false

  init(save: @escaping @Sendable (Bool) -> Promise<Void>) { self.save = save }

  func tapped() {
    isLiked.toggle()
    message = nil
    let wanted = isLiked
    saves.run { [save] in save(wanted) }
      .done { self.isLikedOnServer = wanted }
      .catch { error in
        // A newer tap has superseded this one, and decides.
        guard !self.saves.isRunning else { return }
        self.isLiked = self.isLikedOnServer
        self.message = "\(error)"
      }
  }
}

// MARK: banner
@MainActor
final class NewsList {
  struct Banner {
    let text: String
    let retry: @MainActor () -> Void
  }

  private(set) var news: [String] = []
  private(set) var banner: Banner?
  private(set) var isLoading = false
  private let load: @Sendable () -> Promise<[String]>

  init(load: @escaping @Sendable () -> Promise<[String]>) { self.load = load }

  func refresh() {
    guard !isLoading else { return }
    isLoading = true
    banner = nil
    load()
      .done { news in self.news = news }
      .finally { self.isLoading = false }
      .catch { error in
        self.banner = Banner(text: "No news: \(error)") { [weak self] in self?.refresh() }
      }
  }
}

// MARK: end

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
