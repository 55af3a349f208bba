import Pledge
import PledgeTesting
import Testing

/// Messages distinguish values of different types.
@Suite struct Messages {
  private struct Same: Error, Equatable, CustomStringConvertible {
    let description = "same"
  }

  private struct Alike: Error, CustomStringConvertible {
    let description = "same"
  }

  private func message(of body: () async throws -> Void) async -> String {
    do {
      try await body()
      return "no failure"
    } catch {
      return "\(error)"
    }
  }

  @Test func strings_standInQuotes() async {
    let value = await message { try await expectFulfillment(of: .value("1"), with: "2") }
    #expect(value.hasPrefix("Expected the value \"2\", found \"1\""))
    let fulfilled = await message { try await expectRejection(of: Promise.value("1")) }
    #expect(fulfilled.hasPrefix("Expected a rejection, but the promise was fulfilled: \"1\""))
    let events = Recorder<String>()
    events.record("1")
    #expect(await message { try events.expect(["2"]) }.contains("events [\"2\"], found [\"1\"]"))
  }

  @Test func sidesThatReadAlike_haveTheirTypes() async {
    let text = await message {
      try await expectRejection(of: Promise<Int>.rejected(Alike()), with: Same())
    }
    #expect(text.hasPrefix("Expected a rejection with same of type Same, found same of type Alike"))
  }
}
