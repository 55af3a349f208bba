import Foundation
import Pledge
import PledgeDiagnostics
import PledgeTesting
import Testing

// The examples of FindingWhatHangs.md, and tests of what it says.

private func loadEverything() {}
private func openProfile() -> Promise<Profile> { .value(Profile()) }

private func hanging() {
  let trace = Trace.start()
  loadEverything()
  // … later, when everything should have settled:
  print(trace.pendingTree())
}

private func testing() async throws {
  let trace = Trace.start()
  defer { trace.stop() }
  try await expectFulfillment(of: openProfile(), within: .seconds(5))
}

private func recording() async throws {
  try await Trace.recording { trace in
    let profile = openProfile()
    try await expectFulfillment(of: profile)
    #expect(trace.pendingTree().nodes.isEmpty)
  }
}

private func naming(user: User) {
  let avatar = fetchAvatar(of: user).named("avatar of \(user.id)")

  _ = avatar
}

private func circling(_ trace: Trace) {
  for cycle in trace.waitCycles() {
    print(cycle)
  }
}

private func failing(_ trace: Trace) async {
  let profile = openProfile()
  if case .failure = await profile.result, let path = trace.errorPath(of: profile) {
    print(path)
  }
}

private func reporting() {
  PromiseDiagnostics.setUnhandledRejectionHandler { rejection in
    print(rejection)
    if let path = Trace.current?.lastUnhandledErrorPath() { print(path) }
  }
}

private func writing(_ trace: Trace) throws {
  try trace.write(to: URL(filePath: "trace.html"))
  try trace.write(to: URL(filePath: "trace.json"))
}

private func limiting() {
  let trace = Trace.start(limit: 10_000, samplingInterval: 100)

  trace.stop()
}

@Suite struct DiagnosticsArticle {
  // In a process of its own: one trace, and one hook, is on at a time.
  @Test func reportOfAnUnhandledError_knowsItsWay() async {
    await #expect(processExitsWith: .success) {
      let ways = Recorder<String>()
      PromiseDiagnostics.setUnhandledRejectionHandler { _ in
        ways.record(Trace.current?.lastUnhandledErrorPath()?.description ?? "none")
      }
      let trace = Trace.start()
      _ = Promise<Int>.rejected(Offline()).map(on: .immediate) { $0 }
      trace.stop()
      #expect(ways.events.count == 1)
      #expect(ways.events.first?.hasPrefix("Error: Offline()") == true)
      #expect(ways.events.first?.contains("passed on") == true)
    }
  }
}
