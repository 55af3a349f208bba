import Pledge

// The package compiles this program with `MainActor` as its default isolation: all declarations and
// handlers are on the main actor unless they say otherwise.

nonisolated struct Photo: Sendable, Identifiable {
  let id: Int
  let image: String
  var isLiked = false
}

/// A part of the photos that a search has found.
nonisolated struct Page: Sendable {
  var photos: [Photo]
  /// The number of the next page; nil for the last one.
  var next: Int?
}

nonisolated protocol PhotoService: Sendable {
  func photos(matching text: String, page: Int) -> Promise<Page>
  func setLiked(_ isLiked: Bool, photo: Photo.ID) -> Promise<Void>
  func image(named name: String) -> Promise<[UInt8]>
}

/// The model of a screen that searches photos.
///
/// When the last reference to the model goes, all its requests are cancelled, except for the likes:
/// `LatestOnly` and `PromiseScope` cancel their work when they are deallocated.
final class PhotosModel {
  private(set) var photos: [Photo] = []
  private(set) var isLoading = false
  private(set) var message: String?

  private let service: any PhotoService
  private let clock: any Clock<Duration>
  private let searches: LatestOnly<Void>
  private let pages = LatestOnly<Void>()
  private let images = RequestCoalescer<String, [UInt8]>(caching: .init(capacity: 50))
  private let likes = Limiter(1)
  private let scope = PromiseScope()
  private var text = ""
  private var nextPage: Int?
  private var likedOnServer: Set<Photo.ID> = []
  private var pendingLikes: [Photo.ID: Int] = [:]

  init(_ service: any PhotoService, clock: any Clock<Duration> = ContinuousClock()) {
    self.service = service
    self.clock = clock
    searches = LatestOnly(debounce: .milliseconds(300), clock: clock)
  }

  /// Searches when the text hasn't changed for 300 milliseconds, and cancels the previous search.
  func textChanged(to text: String) {
    self.text = text
    pages.cancel()
    isLoading = true
    searches.run { [service, clock, weak self] in
      service.photos(matching: text, page: 0).timeout(after: .seconds(5), clock: clock)
        .done { [weak self] page in
          self?.photos = []
          self?.show(page)
        }
    }
    .catch { [weak self] error in
      // A search that another one has cancelled ends while that one is running.
      guard let self, !searches.isRunning else { return }
      report(error)
    }
    .finally { [weak self] in
      if let self { isLoading = searches.isRunning }
    }
  }

  /// Loads the next page, if there is one; call it when the end of the list becomes visible.
  func showMore() {
    guard let nextPage, !pages.isRunning else { return }
    pages.run { [service, text, clock, weak self] in
      service.photos(matching: text, page: nextPage).timeout(after: .seconds(5), clock: clock)
        .done { [weak self] page in self?.show(page) }
    }
    .catch { [weak self] error in self?.report(error) }
  }

  /// Changes the like immediately, and changes it back if the server refuses it.
  ///
  /// Likes are sent one after another, in the order of the taps, even if the screen closes.
  func toggleLike(of id: Photo.ID) {
    guard let photo = photos.first(where: { $0.id == id }) else { return }
    let isLiked = !photo.isLiked
    setLiked(isLiked, id)
    pendingLikes[id, default: 0] += 1
    likes.run { [service] in service.setLiked(isLiked, photo: id) }
      .done(weak: self) { model, _ in
        if isLiked { model.likedOnServer.insert(id) } else { model.likedOnServer.remove(id) }
      }
      .catch { [weak self] error in self?.report(error) }
      .finally { [weak self] in
        guard let self else { return }
        pendingLikes[id, default: 0] -= 1
        // Until the last response, the screen shows the last tap.
        if pendingLikes[id] == 0 { setLiked(likedOnServer.contains(id), id) }
      }
  }

  /// Loads the image of a photo.
  ///
  /// Cells that show the same image share one request, and cancel independently: the request ends
  /// when none needs it.
  func image(of photo: Photo) -> Promise<[UInt8]> {
    images.promise(for: photo.image) { service.image(named: photo.image) }.bound(to: scope)
  }

  private func show(_ page: Page) {
    photos += page.photos
    likedOnServer.subtract(page.photos.map(\.id))
    likedOnServer.formUnion(page.photos.filter(\.isLiked).map(\.id))
    nextPage = page.next
    message = nil
  }

  private func setLiked(_ isLiked: Bool, _ id: Photo.ID) {
    guard let index = photos.firstIndex(where: { $0.id == id }) else { return }
    photos[index].isLiked = isLiked
  }

  private func report(_ error: any Error) {
    if !(error is CancellationError) { message = "\(error)" }
  }
}
