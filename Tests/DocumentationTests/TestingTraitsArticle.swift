import Pledge
import PledgeTesting
import PledgeTestingTraits
import Testing

// The examples of PledgeTestingTraits.md.

@Suite(.checksPromises) struct DownloadTests {
  @Test func download_deliversTheFile() async throws {
    let file = try await expectFulfillment(of: fetchFile("kitten.jpg"))
    #expect(file.count == 3)
  }
}

@Suite struct SharedImageTests {
  @Test(.checksPromises(for: [.unhandledRejections, .pendingPromises], patience: .seconds(1)))
  func sharedImage_isKept() async throws {
    try await expectFulfillment(of: sharedImages.image("kitten.jpg"))
  }
}

private struct SharedImages {
  private let images = RequestCoalescer<String, [UInt8]>(caching: .init())

  func image(_ name: String) -> Promise<[UInt8]> { images.promise(for: name) { fetchFile(name) } }
}

private let sharedImages = SharedImages()

private func fetchFile(_ name: String) -> Promise<[UInt8]> {
  Promise.value(name).map(on: .global) { _ in [1, 2, 3] }
}
