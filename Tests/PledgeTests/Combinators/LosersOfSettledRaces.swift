import Pledge
import Testing

@Suite struct LosersOfSettledRaces {
  @Test func errorsOfLosersThatHaveSettled_countAsHandled() {
    DiagnosticsLog.install()
    let loss = Boom(code: 7301)
    do {
      Promise<Int>.race([.rejected(Boom(code: 7300)), .rejected(loss)]).ignoreErrors()
    }
    #expect(DiagnosticsLog.reports(of: loss).isEmpty)
  }
}
