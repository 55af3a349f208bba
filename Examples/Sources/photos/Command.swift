import Foundation
import Pledge

/// A service that takes a tenth of a second for each response, and prints its requests.
nonisolated struct SimulatedService: PhotoService {
  struct Refused: Error {}

  var clock: any Clock<Duration> = ContinuousClock()
  var log: @Sendable (String) -> Void = { print("    service: \($0)") }

  func photos(matching text: String, page: Int) -> Promise<Page> {
    respond("search \"\(text)\", page \(page)").map { _ in
      let ids = page * 3..<page * 3 + 3
      // The first two photos of a page have the same image.
      return Page(
        photos: ids.map { Photo(id: $0, image: "\(text)-\($0 / 2).jpg") },
        next: page < 1 ? page + 1 : nil)
    }
  }

  /// The server refuses to change photo 1.
  func setLiked(_ isLiked: Bool, photo: Photo.ID) -> Promise<Void> {
    respond("\(isLiked ? "like" : "unlike") photo \(photo)").done { _ in
      if photo == 1 { throw Refused() }
    }
  }

  func image(named name: String) -> Promise<[UInt8]> {
    respond("image \(name)").map { _ in Array(name.utf8) }
  }

  private func respond(_ request: String) -> Promise<Void> {
    log(request)
    let response = Promise<Void>.after(.milliseconds(100), clock: clock)
    response.watch { result in
      if case .failure = result { log("cancelled: \(request)") }
    }
    return response
  }
}

/// Shows a screen, and uses it as a person would.
@main
struct Command {
  static func main() async throws {
    var model: PhotosModel? = PhotosModel(SimulatedService())
    func step(_ title: String, wait: Duration, _ action: (PhotosModel) -> Void) async throws {
      guard let model else { return }
      print(title)
      action(model)
      let likes = {
        model.photos.map { $0.isLiked ? "♥\($0.id)" : "\($0.id)" }.joined(separator: " ")
      }
      print("  screen: [\(likes())]\(model.isLoading ? " loading" : "")")
      try await Task.sleep(for: wait)
      print("  screen: [\(likes())]\(model.message.map { " message: \($0)" } ?? "")")
    }
    try await step("Type three letters: one search", wait: .milliseconds(600)) { model in
      for text in ["c", "ca", "cat"] { model.textChanged(to: text) }
    }
    try await step("Scroll to the end: the next page", wait: .milliseconds(200)) { model in
      model.showMore()
      model.showMore()
    }
    try await step("Like photos 0 and 1; the server refuses 1", wait: .milliseconds(400)) { model in
      model.toggleLike(of: 0)
      model.toggleLike(of: 1)
    }
    try await step("Two cells show one image; one scrolls away", wait: .milliseconds(200)) {
      model in
      let cells = model.photos.prefix(2).map { model.image(of: $0) }
      cells[0].cancel()
      cells[1].done { bytes in print("  cell: \(bytes.count) bytes") }.catch { print("  \($0)") }
    }
    try await step("Search, and close the screen", wait: .milliseconds(350)) { model in
      model.textChanged(to: "dog")
    }
    let likes = model?.photos.map(\.isLiked)
    model = nil
    try await Task.sleep(for: .milliseconds(100))
    print("The screen is gone.")
    exit(likes == [true, false, false, false, false, false] ? 0 : 1)
  }
}
