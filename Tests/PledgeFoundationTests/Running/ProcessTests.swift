import Foundation
import Pledge
import PledgeFoundation
import Testing

#if os(macOS) || os(Linux)
  extension FoundationTests {
    @Suite struct Processes {
      /// A process that runs `script`, and a guarantee of its termination.
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
        await eventually { FileManager.default.fileExists(atPath: folder.file("ready").path) }
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
        }
        try await eventually { try openDescriptors("pipe:") <= pipes + 2 }
        try await eventually { try openDescriptors("socket:") <= sockets + 4 }
      }
    }
  }
#endif
