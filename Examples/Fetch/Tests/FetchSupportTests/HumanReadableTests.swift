import Foundation
import Testing

@testable import FetchSupport

@Suite struct HumanReadableTests {
  @Test(arguments: [
    (0, "0 B"), (1, "1 B"), (999, "999 B"), (1000, "1.0 kB"), (1049, "1.0 kB"), (1050, "1.1 kB"),
    (999_949, "999.9 kB"), (999_950, "1.0 MB"), (1_234_567, "1.2 MB"), (999_999_999, "1.0 GB"),
    (2_500_000_000_000, "2.5 TB"), (Int.max, "9.2 EB"),
  ])
  func bytes_useTheLargestUnitThatFits(count: Int, text: String) {
    #expect(HumanReadable.bytes(count) == text)
  }

  @Test(arguments: [
    (Duration.zero, "0 ms"), (.milliseconds(-5), "0 ms"), (.microseconds(999), "0 ms"),
    (.milliseconds(340), "340 ms"), (.milliseconds(999), "999 ms"), (.seconds(1), "1.0 s"),
    (.milliseconds(2_449), "2.4 s"), (.milliseconds(2_450), "2.5 s"),
    (.milliseconds(59_949), "59.9 s"), (.milliseconds(59_950), "1 min 00 s"),
    (.seconds(187), "3 min 07 s"), (.milliseconds(3_599_500), "1 h 00 min"),
    (.seconds(7_500), "2 h 05 min"), (.seconds(360_000), "100 h 00 min"),
  ])
  func duration_usesTheTwoLargestUnits(duration: Duration, text: String) {
    #expect(HumanReadable.duration(duration) == text)
  }

  @Test func averageSpeed_whenNoTimeHasPassed_isUnknown() {
    var progress = TransferProgress(filesTotal: 1, bytesDone: 3_000_000)
    #expect(progress.averageSpeed == nil)
    progress.elapsed = .milliseconds(1500)
    #expect(progress.averageSpeed == 2_000_000)
    (progress.bytesDone, progress.elapsed) = (.max, .nanoseconds(1))
    #expect(progress.averageSpeed == nil)
  }
}
