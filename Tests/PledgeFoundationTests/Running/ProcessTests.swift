import Foundation
import Pledge
import PledgeFoundation
import PledgeTesting
import Testing

#if os(macOS) || os(Linux)
  extension FoundationTests {
    @Suite struct Processes {
      /// Returns a process that runs `script`, and a guarantee for its termination status.
      func shell(_ script: String) -> (process: Process, ended: Guarantee<Int32>) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", script]
        let (ended, resolver) = Guarantee<Int32>.withResolvers()
        process.terminationHandler = { resolver.fulfill($0.terminationStatus) }
        return (process, ended)
      }

      func isGone(_ process: Process) -> Bool {
        kill(process.processIdentifier, 0) == -1 && errno == ESRCH
      }

      @Test func execute_capturesBothOutputs() async throws {
        let output = try await Process.execute("/bin/sh", "-c", "echo out; echo err >&2").value
        #expect(output.text == "out" && output.errorText == "err")
        #expect(output.standardOutput == Data("out\n".utf8))
        #expect(output.isSuccess && output.status == 0)
      }

      @Test func handlerInPlace_canWaitForAnotherProcess() async {
        await #expect(processExitsWith: .success) {
          let outer = Process.execute("sleep", "0.1").map(on: .immediate) { _ in
            try Process.execute("echo", "7").wait().text
          }
          let text = try await outer.timeout(after: .seconds(30)).value
          #expect(text == "7")
        }
      }

      @Test func execute_looksUpThePath() async throws {
        #expect(try await Process.execute("echo", "a b", "$HOME").value.text == "a b $HOME")
      }

      @Test func execute_callsTheTerminationHandlerOfTheProcess() async throws {
        let (process, ended) = shell("exit 0")
        _ = try await process.execute().value
        #expect(await ended.value == 0)
        #expect(isGone(process))
      }

      @Test func execute_whenTheStatusIsNotZero_rejectsWithTheOutputs() async throws {
        let promise = Process.execute("/bin/sh", "-c", "echo out; echo oops >&2; exit 3")
        let error = await #expect(throws: ProcessError.self) { try await promise.value }
        #expect(error?.output.ending == .exit(3))
        #expect(error?.output.text == "out" && error?.output.errorText == "oops")
        #expect(error?.command.first == "/bin/sh")
        #expect(error?.description == "/bin/sh ended with status 3: oops")
      }

      @Test func execute_whenASignalEndsIt_rejects() async throws {
        let promise = Process.execute("/bin/sh", "-c", "kill -9 $$")
        let error = await #expect(throws: ProcessError.self) { try await promise.value }
        #expect(error?.output.ending == .signal(9) && error?.output.status == 137)
      }

      @Test func execute_acceptingAnyStatus_isFulfilled() async throws {
        let output = try await Process.execute(
          "/bin/sh", "-c", "echo out; exit 3", acceptsAnyStatus: true
        ).value
        #expect(output.status == 3 && output.text == "out")
      }

      @Test func execute_withMuchOnBothOutputs_readsItAll() async throws {
        let script = """
          head -c 3000000 /dev/zero >&2 & head -c 3000000 /dev/zero; wait; head -c 9 /dev/zero
          """
        let output = try await Process.execute("/bin/sh", "-c", script).value
        #expect(output.standardOutput.count == 3_000_009)
        #expect(output.standardError.count == 3_000_000)
      }

      @Test func execute_withMuchInput_passesItOn() async throws {
        let input = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        #expect(try await Process.execute("cat", input: input).value.standardOutput == input)
        #expect(try await Process.execute("true", input: input).value.standardOutput.isEmpty)
        #expect(try await Process.execute("cat", input: Data()).value.standardOutput.isEmpty)
      }

      @Test func execute_whenTheOutputsAreClosedEarly_passesTheRestOfTheInputOn() async throws {
        let folder = try TemporaryFolder()
        let input = Data(repeating: 0x78, count: 1_000_000)
        let script = "exec >&- 2>&-; sleep 0.1; cat >'\(folder.file("copy").path)'"
        _ = try await Process.execute("/bin/sh", "-c", script, input: input).value
        #expect(try Data(contentsOf: folder.file("copy")) == input)
      }

      @Test func execute_whenThereIsNoSuchProgram_rejects() async throws {
        for program in ["/no/such/program", "no-such-program", "/"] {
          let promise = Process.execute(program)
          await #expect(throws: (any Error).self) { try await promise.value }
        }
      }

      @Test func execute_withoutAProgram_rejects() async throws {
        let promise = Process().execute()
        await #expect(throws: PromiseError.self) { try await promise.value }
      }

      @Test func execute_ofARunningProcess_rejects() async throws {
        let (process, ended) = shell("exec sleep 1000")
        let first = process.execute()
        let second = process.execute()
        await #expect(throws: PromiseError.self) { try await second.value }
        #expect(process.isRunning)
        first.cancel()
        #expect(await ended.value == SIGTERM)
      }

      @Test func execute_ofAnEndedProcess_rejects() async throws {
        let (process, ended) = shell("exit 0")
        _ = try await process.execute().value
        _ = await ended.value
        await #expect(throws: (any Error).self) { try await process.execute().value }
      }

      @Test func cancel_terminatesAndReaps() async throws {
        let (process, ended) = shell("exec sleep 1000")
        let promise = process.execute()
        promise.cancel()
        await #expect(throws: CancellationError.self) { try await promise.value }
        #expect(await ended.value == SIGTERM)
        #expect(isGone(process))
      }

      @Test func cancel_terminatesWhatTheProcessStarted() async throws {
        let (process, ended) = shell("sleep 1000; sleep 1000 & wait")
        let chain = process.execute(gracePeriod: nil).map { $0.text }
        chain.cancel()
        await #expect(throws: CancellationError.self) { try await chain.value }
        #expect(await ended.value == SIGTERM)
        #expect(isGone(process))
      }

      @Test func cancel_whenTheProcessIgnoresIt_killsAfterTheGracePeriod() async throws {
        let folder = try TemporaryFolder()
        let (process, ended) = shell(
          "trap '' TERM; echo > \(folder.file("ready").path); while :; do sleep 1000; done")
        let promise = process.execute(gracePeriod: .milliseconds(20))
        try await waitUntil { FileManager.default.fileExists(atPath: folder.file("ready").path) }
        promise.cancel()
        #expect(await ended.value == SIGKILL)
        #expect(isGone(process))
      }

      @Test func cancel_afterTheEnd_changesNothing() async throws {
        let promise = Process.execute("echo", "x")
        _ = try await promise.value
        promise.cancel()
        #expect(try await promise.value.text == "x")
      }

      @Test func execute_ofAMissingProgram_saysSo() async throws {
        let promise = Process.execute("no-such-program")
        let error = await #expect(throws: ProgramNotFoundError.self) { try await promise.value }
        #expect(
          error?.description == "There is no program \"no-such-program\" in the folders of PATH.")
        let path = Process.execute("/no/such/program")
        await #expect(throws: ProgramNotFoundError(program: "/no/such/program")) {
          try await path.value
        }
      }

      @Test func execute_withDirectoryAndEnvironment_hasThem() async throws {
        let folder = try TemporaryFolder()
        let output = try await Process.execute(
          "/bin/sh", "-c", "pwd -P; echo $GREETING", directory: folder.url,
          environment: ["GREETING": "hello"]
        ).value
        #expect(
          output.text == "\(folder.url.resolvingSymlinksInPath().path)\nhello")
      }

      @Test func execute_withANULInAnArgument_rejects() async throws {
        let promise = Process.execute("echo", "a\0b")
        let error = await #expect(throws: PromiseError.self) { try await promise.value }
        #expect(error?.description.contains("NUL") == true)
      }

      @Test func execute_whenItLeavesADaemonWithoutPipes_settlesBeforeTheDaemonEnds()
        async throws
      {
        let folder = try TemporaryFolder()
        let script = """
          setsid sh -c 'echo $$ > \(folder.file("pid").path); exec sleep 1000' \
            >/dev/null 2>&1 </dev/null &
          echo started
          """
        let output = try await Process.execute("/bin/sh", "-c", script).value
        #expect(output.text == "started")
        let file = folder.file("pid")
        var daemon: pid_t?
        try await waitUntil {
          let text = try? String(contentsOf: file, encoding: .utf8)
          daemon = text.flatMap { pid_t($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
          return daemon != nil
        }
        // The daemon is alive, so the promise didn't wait for it.
        #expect(kill(try #require(daemon), SIGKILL) == 0)
      }

      @Test func execute_withSecretInput_writesItToNoFile() async throws {
        let folder = try TemporaryFolder()
        // The program's standard input is a pipe, rather than a file that other programs could
        // open.
        let script = "readlink /proc/self/fd/0; cat; ls -A \"$TMPDIR\""
        let output = try await Process.execute(
          "/bin/sh", "-c", script,
          environment: ["TMPDIR": folder.url.path, "PATH": "/usr/bin:/bin"],
          input: Data("secret\n".utf8)
        ).value
        #expect(output.text.hasPrefix("pipe:"))
        #expect(output.text.hasSuffix("\nsecret"))
      }

      @Test func execute_whenTheProgramReadsNoInput_isNotEndedBySIGPIPE() async throws {
        let input = Data(repeating: 0x78, count: 5_000_000)
        let output = try await Process.execute(
          "/bin/sh", "-c", "exec <&-; sleep 0.05; echo x", input: input
        ).value
        #expect(output.text == "x")
      }

      @Test func execute_launchedByManyThreads_doesNotWaitForTheOthers() async throws {
        let sleepers = (0..<8).map { _ in Process.execute("sleep", "1000") }
        let quick = (0..<24).map { _ in
          Promise(on: .global) {}.then { Process.execute("true") }
        }
        _ = try await Promise.all(quick).value
        #expect(!sleepers.contains { !$0.isPending })
        for sleeper in sleepers { sleeper.cancel() }
      }

      @Test func execute_whenDescriptorsRunShort_settlesAndWorksAgainLater() async throws {
        await #expect(processExitsWith: .success) {
          var limit = rlimit()
          getrlimit(numericCast(RLIMIT_NOFILE.rawValue), &limit)
          // Descriptors that this process has inherited stay open.
          let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
          limit.rlim_cur = rlim_t((open.compactMap { Int($0) }.max() ?? 0) + 80)
          setrlimit(numericCast(RLIMIT_NOFILE.rawValue), &limit)
          let promises = (0..<200).map { index in
            Promise(on: .global) {}.then {
              Process.execute("/bin/sh", "-c", "sleep 0.3; echo \(index)")
            }
          }
          let results = try await Promise.allSettled(promises).value
          let failures = results.count { if case .failure = $0 { true } else { false } }
          // Some launches ran out of descriptors and failed with that error; the others succeeded.
          precondition(failures > 0 && failures < 200, "\(failures) failed")
          for result in results {
            if case .failure(let error) = result {
              precondition((error as? POSIXError)?.code == .EMFILE, "\(error)")
            }
          }
          let later = try await Process.execute("echo", "later").timeout(after: .seconds(20)).value
          precondition(later.text == "later")
        }
      }

      @Test func execute_manyTimes_leavesNothingOpen() async throws {
        let (pipes, sockets) = (try openDescriptors("pipe:"), try openDescriptors("socket:"))
        for round in 0..<60 {
          let (process, ended) = shell(round.isMultiple(of: 3) ? "exec sleep 1000" : "echo $$")
          let promise = process.execute()
          if round.isMultiple(of: 3) { promise.cancel() }
          _ = await promise.result
          _ = await ended.value
          #expect(isGone(process))
          _ = await Process.execute("/no/such/program").result
          let folder = URL(fileURLWithPath: "/no/such/folder")
          let elsewhere = Process.execute("true", directory: folder)
          let error = await #expect(throws: CocoaError.self) { try await elsewhere.value }
          #expect(error?.userInfo[NSFilePathErrorKey] as? String == folder.path)
        }
        try await waitUntil { try openDescriptors("pipe:") <= pipes + 2 }
        try await waitUntil { try openDescriptors("socket:") <= sockets + 4 }
      }
    }
  }
#endif
