import PledgeTesting
import Testing

@Suite struct TestingArticle {
  /// TestingPromises.md shows this report.
  @Test func lostPayment_isFound_inTheStepsOfTheArticle() async throws {
    let failure = try await #require(throws: FailingOrderError.self) {
      try await explore { try await payTwice(in: $0) }
    }
    #expect(failure.order == "plain")
    #expect(
      failure.description.hasPrefix("The test body failed in order no. 1: The balance is 20."))
    #expect(
      failure.steps == [
        "1. the test", "2. till, made by step 1", "3. office, made by step 1",
        "4. till, made by step 2", "5. office, made by step 3", "6. the test, made by step 5",
      ])
  }
}
