import Pledge
import PledgeTesting
import Testing

@testable import photos

@MainActor
@Suite(.serialized) struct PhotosTests {
  private let clock = TestClock()
  private let requests = Recorder<String>()
  private let model: PhotosModel

  init() {
    model = PhotosModel(
      SimulatedService(clock: clock, log: { [requests] in requests.record($0) }), clock: clock)
  }

  private func search(_ text: String) async {
    model.textChanged(to: text)
    await clock.advance(by: .milliseconds(400))
  }

  @Test func search_waitsForAPauseInTyping_andHidesTheSpinnerAtTheEnd() async {
    for text in ["c", "ca", "cat"] { model.textChanged(to: text) }
    await clock.advance(by: .milliseconds(399))
    #expect(requests.events == ["search \"cat\", page 0"])
    #expect(model.isLoading)
    await clock.advance(by: .milliseconds(1))
    #expect(model.photos.map(\.id) == [0, 1, 2])
    #expect(!model.isLoading)
    #expect(model.message == nil)
  }

  @Test func showMore_loadsEachPageOnce_untilTheLastOne() async {
    await search("cat")
    for _ in 1...2 {
      model.showMore()
      model.showMore()
      await clock.advance(by: .milliseconds(100))
    }
    #expect(model.photos.map(\.id) == Array(0..<6))
    #expect(requests.events.count == 2)
  }

  @Test func newSearch_cancelsTheNextPageOfTheOldOne() async {
    await search("cat")
    model.showMore()
    await clock.advance(by: .milliseconds(50))
    await search("dog")
    #expect(requests.events.contains("cancelled: search \"cat\", page 1"))
    #expect(model.photos.map(\.image) == ["dog-0.jpg", "dog-0.jpg", "dog-1.jpg"])
  }

  @Test func like_isShownImmediately_andRolledBackIfTheServerRefusesIt() async {
    await search("cat")
    model.toggleLike(of: 0)
    model.toggleLike(of: 1)
    #expect(model.photos.map(\.isLiked) == [true, true, false])
    await clock.advance(by: .milliseconds(200))
    #expect(model.photos.map(\.isLiked) == [true, false, false])
    #expect(model.message == "Refused()")
  }

  @Test func like_afterSeveralTaps_isThatOfTheLastTap() async {
    await search("cat")
    for _ in 1...3 { model.toggleLike(of: 0) }
    #expect(model.photos[0].isLiked)
    await clock.advance(by: .milliseconds(300))
    #expect(model.photos[0].isLiked)
    #expect(
      requests.events.dropFirst() == ["like photo 0", "unlike photo 0", "like photo 0"])
  }

  @Test func image_ofTwoCells_isRequestedOnce_andSurvivesTheCancellationOfOne() async throws {
    await search("cat")
    let cells = model.photos.prefix(2).map { model.image(of: $0) }
    cells[0].cancel()
    await clock.run(until: cells[1])
    try await expectFulfillment(of: cells[1], with: Array("cat-0.jpg".utf8))
    #expect(requests.events.filter { $0 == "image cat-0.jpg" }.count == 1)
  }

  @Test func requests_areCancelled_whenTheModelGoes() async throws {
    var model: PhotosModel? = PhotosModel(
      SimulatedService(clock: clock, log: { [requests] in requests.record($0) }), clock: clock)
    model?.textChanged(to: "cat")
    await clock.advance(by: .milliseconds(300))
    let image = model?.image(of: Photo(id: 7, image: "seven.jpg"))
    model = nil
    await clock.settle()
    #expect(requests.events.contains("cancelled: search \"cat\", page 0"))
    #expect(requests.events.contains("cancelled: image seven.jpg"))
    try await expectCancellation(of: try #require(image))
    await clock.noSleepers()
  }
}
