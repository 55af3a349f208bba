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
    func step(
      _ title: String, until isDone: (PhotosModel) -> Bool, _ action: (PhotosModel) -> Void
    ) async throws {
      guard let model else { return }
      print(title)
      action(model)
      draw(model)
      while !isDone(model) { try await Task.sleep(for: .milliseconds(10)) }
      draw(model)
    }
    try await step("Type three letters: one search", until: { !$0.isLoading }) { model in
      for text in ["c", "ca", "cat"] { model.textChanged(to: text) }
    }
    try await step("Scroll to the end: the next page", until: { $0.photos.count == 6 }) { model in
      model.showMore()
      model.showMore()
    }
    try await step("Like photos 0 and 1; 1 is refused", until: { $0.message != nil }) { model in
      model.toggleLike(of: 0)
      model.toggleLike(of: 1)
    }
    print("Two cells show the same image; one scrolls away")
    let cells = model?.photos.prefix(2).compactMap { model?.image(of: $0) } ?? []
    cells[0].cancel()
    print("  cell 1: \(try await cells[1].value.count) bytes")

    print("Search, and close the screen")
    let isCorrect = model?.photos.filter(\.isLiked).map(\.id) == [0]
    model?.textChanged(to: "dog")
    try await Task.sleep(for: .milliseconds(350))
    model = nil
    try await Task.sleep(for: .milliseconds(50))
    exit(isCorrect ? 0 : 1)
  }

  private static func draw(_ model: PhotosModel) {
    let photos = model.photos.map { photo in "\(photo.isLiked ? "♥" : "")\(photo.id)" }
    let state = model.isLoading ? "loading" : model.message.map { "message: \($0)" } ?? ""
    print("  screen: [\(photos.joined(separator: " "))] \(state)")
  }
}
