#if canImport(Testing)
  import Pledge
  import PledgeDiagnostics
  import Testing

  /// A trait that fails a test if promises of the test are pending, in memory, or rejected without
  /// a handler after it has ended.
  ///
  /// ```swift
  /// @Test(.checksPromises) func download_deliversTheFile() async throws {
  ///   try await expectFulfillment(of: fetchFile("kitten.jpg"))
  /// }
  /// ```
  ///
  /// On a suite, it applies to each test of the suite. Each test case is checked separately, even
  /// while others run in parallel. The module's page describes which promises belong to a test.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public struct PromiseCheckTrait: TestTrait, SuiteTrait, TestScoping {
    /// The problems that fail a test.
    public struct Problems: OptionSet, Sendable, Hashable {
      /// The set as a number.
      public let rawValue: Int

      /// Creates the set with this number.
      public init(rawValue: Int) { self.rawValue = rawValue }

      /// A promise is rejected, and no handler has received the error.
      ///
      /// The error isn't reported elsewhere. If it can't be determined to which test a rejection
      /// belongs, for example because a detached task or a Dispatch queue created its promise, the
      /// rejection is an issue of the test run, unless no test with the trait is running, or
      /// `setUnhandledRejectionHandler` has set a handler.
      public static let unhandledRejections = Problems(rawValue: 1)
      /// A promise is pending, or a task or thread waits for one.
      ///
      /// The failure contains the tree of pending promises.
      public static let pendingPromises = Problems(rawValue: 2)
      /// A promise is settled and still in memory: a reference cycle or a global variable retains
      /// it.
      public static let leaks = Problems(rawValue: 4)
      /// All problems.
      public static let all: Problems = [.unhandledRejections, .pendingPromises, .leaks]
    }

    /// The problems that fail the test.
    public let problems: Problems
    /// The time that a test's promises have to settle and to be deallocated after the test's
    /// function has returned.
    public let patience: Duration

    /// Whether the trait applies to the tests in a suite: `true`.
    public var isRecursive: Bool { true }

    init(problems: Problems, patience: Duration) {
      self.problems = problems
      self.patience = patience
    }

    /// Runs a test case, and then waits until its promises are settled and deallocated, but no
    /// longer than ``patience``.
    ///
    /// This records an issue for each problem, and rethrows the errors of `function`.
    public func provideScope(
      for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
      if problems.contains(.unhandledRejections) { RunCheck.begin(test.name) }
      defer { RunCheck.end(test.name) }
      try await check(function) { issue in
        Issue.record(Comment(rawValue: issue), sourceLocation: test.sourceLocation)
      }
    }

    /// Runs `function` and calls `report` for each problem.
    func check(
      _ function: @Sendable () async throws -> Void, report: (String) -> Void
    ) async throws {
      try await Trace.recording(claimsRejections: true) { trace in
        let failure: (any Error)?
        do {
          try await function()
          failure = nil
        } catch {
          failure = error
        }
        await waitForEnd(of: trace)
        for issue in issues(of: trace) { report(issue) }
        if let failure { throw failure }
      }
    }

    /// Waits until no remaining promise is a problem, the time limit is reached, or the test is
    /// cancelled.
    private func waitForEnd(of trace: Trace) async {
      let clock = ContinuousClock()
      let deadline = clock.now + patience
      var pause = Duration.microseconds(100)
      while mayImprove(trace.leftovers()), clock.now < deadline {
        // `sleep` throws only if the test is cancelled, which must end the wait.
        guard (try? await clock.sleep(for: pause)) != nil else { return }
        pause = min(pause * 2, .milliseconds(20))
      }
    }

    /// Returns whether a remaining promise is a problem, or can become one.
    private func mayImprove(_ leftovers: Leftovers) -> Bool {
      let kept =
        problems.contains(.leaks)
        ? leftovers.settled : problems.contains(.unhandledRejections) ? leftovers.rejected : 0
      return kept > 0 || leftovers.pending > 0 && !problems.isEmpty
    }

    private func issues(of trace: Trace) -> [String] {
      let leftovers = trace.leftovers()
      var issues: [String] = []
      if problems.contains(.unhandledRejections) {
        issues += leftovers.unhandled.map(capitalized)
      }
      if problems.contains(.pendingPromises), leftovers.pending > 0 {
        issues.append("The test leaves promises pending.\n\(trace.pendingTree())")
      }
      if problems.contains(.leaks), leftovers.settled > 0 {
        let lines = trace.settledPromises(limit: 20)
        let more = leftovers.settled - lines.count
        issues.append(
          "The test leaves settled promises in memory: \(leftovers.settled)\n"
            + lines.joined(separator: "\n") + (more > 0 ? "\nand \(more) more" : ""))
      }
      return issues
    }
  }

  /// The check for unhandled rejections that belong to no test that can be determined.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  enum RunCheck {
    private struct State {
      /// The names of the tests that are running; one with arguments can be running several times.
      var tests: [String] = []
      var record: @Sendable (String) -> Void = { Issue.record(Comment(rawValue: $0)) }
    }

    private static let state = Mutex(State())

    /// Installed once.
    private static let claim: Void = Claims.add { rejection in
      let (tests, record) = state.withLock { ($0.tests, $0.record) }
      if tests.isEmpty || PromiseDiagnostics.reportsElsewhere { return false }
      // Not on this thread, because the description of an error is user code.
      Task.detached {
        record(
          capitalized(rejection) + " It belongs to one of the tests that were running: "
            + Set(tests).sorted().joined(separator: ", "))
      }
      return true
    }

    static func begin(_ test: String) {
      state.withLock { $0.tests.append(test) }
      claim
    }

    static func end(_ test: String) {
      state.withLock { state in
        if let index = state.tests.firstIndex(of: test) { state.tests.remove(at: index) }
      }
    }

    /// Replaces `Issue.record`, to test the check itself.
    static func setRecord(_ record: @escaping @Sendable (String) -> Void) {
      state.withLock { $0.record = record }
    }
  }

  private func capitalized(_ rejection: PromiseDiagnostics.UnhandledRejection) -> String {
    let text = "\(rejection)"
    return text.prefix(1).uppercased() + text.dropFirst()
  }

  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  extension Trait where Self == PromiseCheckTrait {
    /// A trait that fails a test on unhandled rejections, on promises that stay pending, and on
    /// settled promises that stay in memory, after at most five seconds.
    public static var checksPromises: Self { .checksPromises() }

    /// Returns a trait that fails a test on the given problems with promises.
    ///
    /// - Parameters:
    ///   - problems: The problems that fail the test.
    ///   - patience: The time that the promises have to settle and to be deallocated after the
    ///     test's function has returned. A test whose promises are deallocated doesn't wait.
    public static func checksPromises(
      for problems: PromiseCheckTrait.Problems = .all, patience: Duration = .seconds(5)
    ) -> Self {
      PromiseCheckTrait(problems: problems, patience: patience)
    }
  }
#endif
