#if OpenCombine || canImport(Combine)
  #if OpenCombine
    import OpenCombine
  #else
    import Combine
  #endif
  import Pledge
  import PledgeCombine
  import PledgeTesting
  import Testing

  /// The examples of the article on integrations that need publishers.
  @Suite struct CombineArticle {
    @Test func publishersAndPromises() async throws {
      let names = PassthroughSubject<String, Never>()
      let printed = Recorder<String>()
      @Sendable func print(_ item: Any) { printed.record("\(item)") }

      let subscription = fetchUser(id: 7).publisher
        .map { @Sendable user in user.name }
        .sink(
          receiveCompletion: { @Sendable end in print(end) },
          receiveValue: { @Sendable name in print(name) })

      let first = names.firstValue()
      let all = names.allValues()

      try await expectFulfillment(of: printed.reaches(2).promise)
      #expect(printed.events == [User(id: 7).name, "finished"])
      names.send("Ada")
      names.send("Grace")
      names.send(completion: .finished)
      try await expectFulfillment(of: first, with: "Ada")
      try await expectFulfillment(of: all, with: ["Ada", "Grace"])
      subscription.cancel()
    }
  }
#endif
