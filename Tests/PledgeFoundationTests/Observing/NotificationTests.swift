extension FoundationTests {
  @Suite struct Notifications {
    let center = NotificationCenter()
    let name = Notification.Name("happened")

    @Test func next_isFulfilledByTheNextPost() async throws {
      center.post(name: name, object: nil)
      let next = center.next(name)
      #expect(next.isPending)
      center.post(name: Notification.Name("other"), object: nil)
      #expect(next.isPending)
      center.post(name: name, object: nil)
      await next.value
    }

    @Test func next_takesWhatTransformReturns() async throws {
      let next = center.next(name) { $0.userInfo?["n"] as? Int }
      center.post(name: name, object: nil)
      center.post(name: name, object: nil, userInfo: ["n": "text"])
      #expect(next.isPending)
      center.post(name: name, object: nil, userInfo: ["n": 3])
      center.post(name: name, object: nil, userInfo: ["n": 4])
      #expect(await next.map { n in n + 1 }.value == 4)
    }

    @Test func next_ofAnObject_ignoresOthers() async throws {
      let (mine, other) = (NSObject(), NSObject())
      let next = center.next(name, object: mine)
      center.post(name: name, object: other)
      center.post(name: name, object: nil)
      #expect(next.isPending)
      center.post(name: name, object: mine)
      await next.value
    }

    @Test func next_onceFulfilled_hasNoObserver_andReleasesTransform() async throws {
      let (calls, tracker) = (CallCounter(), LifetimeTracker())
      let next = center.next(name) { [token = tracker.track()] _ in
        withExtendedLifetime(token) { calls.call() }
      }
      for _ in 0..<3 { center.post(name: name, object: nil) }
      #expect(await next.value == 1)
      #expect(calls.count == 1 && tracker.liveCount == 0)
    }

    @Test func next_onceCancelled_hasNoObserver() async throws {
      let (calls, tracker) = (CallCounter(), LifetimeTracker())
      let next = center.next(name) { [token = tracker.track()] _ in
        withExtendedLifetime(token) { calls.call() }
      }.promise
      #expect(tracker.liveCount == 1)
      next.cancel()
      #expect(tracker.liveCount == 0)
      center.post(name: name, object: nil)
      #expect(calls.count == 0)
      await #expect(throws: CancellationError.self) { try await next.value }
    }

    @Test func cancel_racingWithPosts_settlesOnce() async throws {
      let (center, name) = (center, name)
      for _ in 0..<300 {
        let next = center.next(name) { _ in 1 }.promise
        async let post: Void = { center.post(name: name, object: nil) }()
        async let cancel: Void = next.cancel()
        _ = await (post, cancel)
        switch await next.result {
        case .success(let value): #expect(value == 1)
        case .failure(let error): #expect(error is CancellationError)
        }
      }
    }

    @Test func post_byManyThreads_fulfillsOnce() async throws {
      let (center, name) = (center, name)
      for _ in 0..<50 {
        let next = center.next(name) { _ in 1 }
        DispatchQueue.concurrentPerform(iterations: 8) { _ in center.post(name: name, object: nil) }
        #expect(await next.value == 1)
      }
    }
  }
}
