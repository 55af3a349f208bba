import Foundation
import Pledge
import PledgeFoundation
import Synchronization

/// Downloads files.
///
/// Each method implements one policy as a chain; read them from top to bottom.
final class Downloader: Sendable {
  private let request: Request
  private let storage: any Storage
  let options: Options
  private let executor: any PromiseExecutor
  private let disk: any PromiseExecutor
  let time: Time
  private let stalls: StallLimit
  private let mirrors = Mirrors()
  let report: @Sendable (Event) -> Void

  /// Creates a downloader.
  ///
  /// - Parameters:
  ///   - disk: The executor for slow file operations, such as computing checksums.
  ///   - report: A closure that is called with each event, on any thread.
  init(
    transport: any Transport, storage: any Storage, options: Options = Options(),
    disk: any PromiseExecutor = .global, time: Time = .real,
    report: @escaping @Sendable (Event) -> Void = { _ in }
  ) {
    stalls = StallLimit(limit: options.stall, time: time)
    request = Request(
      transport: transport, stalls: stalls, settings: options.settings, time: time,
      hosts: HostLimits(options.connectionsPerHost))
    executor = transport.executor
    (self.storage, self.options, self.disk, self.time) = (storage, options, disk, time)
    self.report = report
  }

  /// Downloads all files, a limited number at the same time.
  ///
  /// The promise is fulfilled with the size of each file or its error, even if some of them fail.
  func downloadAll(_ files: [Download]) -> Promise<[Result<Int, any Error>]> {
    Promise.all(on: executor, files, concurrently: options.concurrency) { [self] file in
      download(file).mapResult(on: .immediate) { [self] result in
        if case .failure(let error as CancellationError) = result { throw error }
        report(.ended(file, result))
        return result
      }
    }
  }

  /// Downloads one file, unless it exists and must be kept.
  ///
  /// - Parameters:
  ///   - file: The file.
  ///   - failures: The number of times that too many files were open.
  private func download(_ file: Download, failures: Int = 0) -> Promise<Int> {
    // Opening a file is faster than switching threads; computing a checksum isn't.
    file.checksum != nil
      ? Promise(on: disk) { [self] in Result { try start(file) } }
        .then(on: .immediate) { [self] in proceed($0, file, failures) }
      : proceed(Result { try start(file) }, file, failures)
  }

  private enum Start {
    case present(byteCount: Int)
    case missing(Copy)
  }

  private func start(_ file: Download) throws -> Start {
    if let size = try storage.present(file) { return .present(byteCount: size) }
    return .missing(Copy(file, try storage.open(file.name)))
  }

  private func proceed(
    _ start: Result<Start, any Error>, _ file: Download, _ failures: Int
  ) -> Promise<Int> {
    switch start {
    case .success(.present(let size)): return .value(size)
    case .success(.missing(let copy)): return fetch(copy)
    case .failure(let error as FileFailure)
    where error.isTooManyFiles && failures + 1 < options.policy.attempts:
      let delay = options.policy.delay(failures + 1)
      report(.waiting(file, delay, because: error, askedByServer: false))
      return time.after(delay).then(on: .immediate) { [self] in
        download(file, failures: failures + 1)
      }
    case .failure(let error): return .rejected(error)
    }
  }

  /// Fetches the missing bytes, verifies the file, and renames it to its final name.
  private func fetch(_ copy: Copy) -> Promise<Int> {
    startingOver(copy) { [self] in complete(copy) }
      // Renaming a file is faster than switching threads.
      .map(on: .immediate) { [storage] in
        try copy.complete()
        try storage.commit(copy.part)
        storage.close(copy.part)
        return copy.received
      }
      // A partial file that can be resumed is flushed to disk, and any other is removed, even if
      // the download was cancelled.
      .recover(on: .immediate) { [self] error in
        let closing = Promise(on: disk) { self.storage.close(copy.part) }
        return closing.uncancellable().map(on: .immediate) { throw error }
      }
  }

  /// Fetches all missing bytes.
  private func complete(_ copy: Copy) -> Promise<Void> {
    let claims = copy.claims
    guard !claims.isEmpty else { return verify(copy) }
    let arrival =
      options.split == 1 && claims.count == 1 ? inOnePiece(copy) : inSegments(copy, claims[0])
    return copy.file.checksum == nil ? arrival : arrival.then(on: .immediate) { self.verify(copy) }
  }

  /// Fetches the missing bytes over one connection.
  private func inOnePiece(_ copy: Copy) -> Promise<Void> {
    persistently(copy) { [self] in
      // An earlier attempt may have changed what is missing.
      guard let claim = copy.claims.first else { return .value(()) }
      return connect(copy, claim).then(on: .immediate) { self.read($0, copy) }
    }
  }

  /// Fetches the missing bytes over several connections.
  private func inSegments(_ copy: Copy, _ first: Copy.Claim) -> Promise<Void> {
    persistently(copy) { self.connect(copy, first) }
      .then(on: .immediate) { [self] opened in
        // The first response contains the size, which is needed to divide the file.
        if opened.answer.head.servesRanges {
          copy.split(into: options.split, minimum: options.minimumSegment)
        }
        return segments(of: copy, connections: options.split, Early(first.start, opened))
      }
  }

  /// The response that arrived before the file was divided, for the first attempt to fetch its
  /// segment.
  private final class Early: Sendable {
    private let start: Int
    private let opened: Mutex<Opened?>

    init(_ start: Int, _ opened: Opened) {
      self.start = start
      self.opened = Mutex(opened)
    }

    func take(for claim: Copy.Claim) -> Opened? {
      claim.start == start ? opened.withLock { $0.take() } : nil
    }
  }

  /// Fetches the missing segments at the same time.
  ///
  /// If some of them fail, the server may limit connections: after the others are complete, they
  /// are fetched over fewer connections, until nothing arrives in several rounds.
  private func segments(
    of copy: Copy, connections: Int, _ early: Early, errors: [any Error] = []
  ) -> Promise<Void> {
    let before = copy.mostReceived
    return Promise.all(
      on: .immediate, copy.claims, concurrently: connections, cancellingRest: true
    ) { [self] claim in
      persistently(copy) { [self] in
        if let opened = early.take(for: claim) { return read(opened, copy) }
        return connect(copy, claim).then(on: .immediate) { self.read($0, copy) }
      }
      .mapResult(on: .immediate) { result -> (any Error)? in
        guard case .failure(let error) = result else { return nil }
        if error is CancellationError || Self.isSpoiled(error) { throw error }
        return error
      }
    }
    .then(on: .immediate) { [self] results in
      let failures = results.compactMap(\.self)
      guard let error = failures.first else { return .value(()) }
      let hasProgressed = copy.mostReceived >= before + Self.progressThatCounts
      let errors = hasProgressed ? [error] : errors + [error]
      // The server may need some time to notice that a connection was closed; an error after
      // several attempts is final.
      let isFinal = errors.count > 1 && ((error as? GivenUp)?.errors.count ?? 1) > 1
      guard !isFinal, errors.count < options.policy.attempts else { throw error }
      return pause(copy, errors).then(on: .immediate) { [self] in
        let connections = max(1, connections - failures.count)
        return segments(of: copy, connections: connections, early, errors: errors)
      }
    }
  }

  /// Compares the file with its checksum.
  private func verify(_ copy: Copy) -> Promise<Void> {
    guard copy.file.checksum != nil else { return .value(()) }
    return Promise(on: disk) { try copy.verify() }
      .watch(on: .immediate) { [mirrors] result in
        guard case .failure(let error) = result, error is ChecksumMismatch else { return }
        if let sole = copy.soleMirror {
          mirrors.blameForWrongFile(sole)
        } else {
          // The checksum doesn't show which mirror sent wrong bytes.
          for mirror in copy.mirrors { mirrors.blame(mirror) }
        }
      }
  }

  /// Requests a segment from the mirrors, each a little later than the one before.
  ///
  /// The first successful response wins, and the other requests are cancelled.
  private func connect(_ copy: Copy, _ claim: Copy.Claim) -> Promise<Opened> {
    let ranked = mirrors.ranked(copy.file.mirrors, rotation: claim.start / options.minimumSegment)
    let attempt = copy.beginAttempt()
    // With a single mirror there is no race, and a failure is a single error, not an aggregate.
    if ranked.count == 1 { return ask(ranked[0], copy, claim, attempt) }
    return Promise.any(
      ranked.enumerated().map { rank, mirror in
        rank == 0
          ? ask(mirror, copy, claim, attempt)
          : time.after(options.headStart * rank).then(on: .immediate) {
            self.ask(mirror, copy, claim, attempt)
          }
      })
  }

  /// A response that continues a file.
  private struct Opened: Sendable {
    let answer: any Answer
    let mirror: URL
    /// The segment that the body belongs to; nil if nothing was missing.
    let claim: Copy.Claim?
  }

  private func ask(
    _ mirror: URL, _ copy: Copy, _ claim: Copy.Claim, _ attempt: Int
  ) -> Promise<Opened> {
    let headers: [String: String]
    do { headers = try copy.headers(for: claim) } catch { return .rejected(error) }
    return request.get(mirror, headers).mapResult(on: .immediate) { [mirrors] result in
      try mirrors.blaming(mirror) {
        let answer = try mirrors.noting(mirror, result)
        let claim = try copy.accept(answer.head, from: mirror, for: claim, attempt: attempt)
        return Opened(answer: answer, mirror: mirror, claim: claim)
      }
    }
  }

  /// Writes the body of a response to the file, unless it stalls or other mirrors are much faster.
  private func read(_ opened: Opened, _ copy: Copy) -> Promise<Void> {
    // The file was already complete.
    guard let claim = opened.claim else { return .value(()) }
    let resume = copy.resume
    report(.started(copy.file, received: resume.received, size: resume.size))
    let meter = Meter(time.now())
    let body = stalls.watch(
      opened.answer.body { [time, report] bytes in
        try meter.receive(bytes.count, now: time.now) { try copy.write(bytes, claim) }
        report(.received(copy.file, bytes.count))
      }, meter)
    let others = copy.file.mirrors.filter { $0 != opened.mirror }
    let arrival = others.isEmpty ? body : Promise.race(body, outrun(meter, by: others))
    return arrival.mapResult(on: .immediate) { [mirrors, time] result in
      copy.end(claim)
      mirrors.note(opened.mirror, bytes: meter.count, in: time.now() - meter.start)
      try mirrors.blaming(opened.mirror) {
        do { try result.get() } catch is EndOfSegment {}
        try copy.finish(claim)
      }
    }
  }

  /// Returns a promise that is rejected once other mirrors would be much faster than a connection.
  private func outrun(_ meter: Meter, by others: [URL]) -> Promise<Void> {
    let before = meter.count
    let pause = min(options.stall, .seconds(2))
    return time.after(pause).then(on: .immediate) { [self] in
      let speed = Double(meter.count - before) / (pause / .seconds(1))
      if mirrors.isMuchSlower(speed, than: others) { throw TooSlow() }
      return outrun(meter, by: others)
    }
  }
}
