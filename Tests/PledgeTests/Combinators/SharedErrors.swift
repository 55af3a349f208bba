/// Inputs of a combinator that were rejected with the error of a promise that they share.
@Suite struct SharedErrors {
  // Some tests leave errors unhandled.
  init() { DiagnosticsLog.install() }

  @Test(arguments: [false, true], [false, true])
  func errorThatTwoInputsShare_isReportedOnce_unlessTheResultIsHandled(
    isSettledFirst: Bool, isHandled: Bool
  ) {
    let code = (isSettledFirst ? 9310 : 9300) + (isHandled ? 2 : 0)
    let (all, race) = (Boom(code: code), Boom(code: code + 1))
    share(all, isSettledFirst) {
      let result = Promise.all($0)
      if isHandled { result.catch(on: .immediate) { _ in } }
    }
    share(race, isSettledFirst) {
      let result = Promise.race($0)
      if isHandled { result.catch(on: .immediate) { _ in } }
    }
    for error in [all, race] {
      #expect(DiagnosticsLog.reports(of: error).count == (isHandled ? 0 : 1))
    }
  }

  @Test func errorOfACancelledPromise_isNotReported_byACombinatorThatCameLate() {
    let error = Boom(code: 9320)
    let (promise, resolver) = Promise<Int>.withResolvers()
    resolver.onCancel {
      _ = Promise.race([promise.map(on: .immediate) { $0 }])
      resolver.reject(error)
    }
    promise.cancel()
    #expect(DiagnosticsLog.reports(of: error).isEmpty)
  }

  @Test(arguments: [false, true])
  func errorAfterTheFirst_isNotReported_byABoundedAll(cancelsRest: Bool) {
    let code = cancelsRest ? 9330 : 9340
    let pairs = (0..<3).map { _ in Promise<Int>.withResolvers() }
    Promise.all(on: .immediate, 0..<3, concurrently: 3, cancellingRest: cancelsRest) {
      pairs[$0].promise
    }.ignoreErrors()
    for (index, pair) in pairs.enumerated() { pair.resolver.reject(Boom(code: code + index)) }
    for index in pairs.indices {
      #expect(DiagnosticsLog.reports(of: Boom(code: code + index)).isEmpty)
    }
  }

  /// The loop takes another element, whose closure throws, while the first error is delivered.
  @Test func errorOfAClosure_isNotReported_afterTheFirst() {
    let (first, resolver) = Promise<Int>.withResolvers()
    Promise.all(on: .immediate, 0..<2, concurrently: 2) { index in
      if index == 0 { return first }
      resolver.reject(Boom(code: 9350))
      throw Boom(code: 9351)
    }.ignoreErrors()
    #expect(DiagnosticsLog.reports(of: Boom(code: 9350)).isEmpty)
    #expect(DiagnosticsLog.reports(of: Boom(code: 9351)).isEmpty)
  }

  private func share(_ error: Boom, _ isSettledFirst: Bool, _ combine: ([Promise<Int>]) -> Void) {
    let (promise, resolver) = Promise<Int>.withResolvers()
    if isSettledFirst { resolver.reject(error) }
    combine([promise.map(on: .immediate) { $0 }, promise.map(on: .immediate) { $0 }])
    if !isSettledFirst { resolver.reject(error) }
  }
}
