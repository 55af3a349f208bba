import FetchSupport
import Foundation
import Pledge
import PledgeFoundation

/// Downloads files.
///
/// Each method implements one policy as a chain; read them from top to bottom.
public struct Downloader: Sendable {
  /// The state that all downloads share.
  ///
  /// This is a single object because each closure of a chain retains its captures.
  final class Shared: Sendable {
    let request: Request
    let storage: any Storage
    let options: Options
    let executor: any PromiseExecutor
    let disk: any PromiseExecutor
    let time: Time
    let stalls: StallWatch
    let report: @Sendable (Event) -> Void
    let mirrors = Mirrors()

    init(
      transport: any Transport, storage: any Storage, options: Options,
      disk: any PromiseExecutor, time: Time, report: @escaping @Sendable (Event) -> Void
    ) {
      stalls = StallWatch(limit: options.stall, time: time)
      request = Request(
        transport: transport, stalls: stalls, settings: options.settings,
        hosts: HostLimits(options.connectionsPerHost))
      self.storage = storage
      self.options = options
      executor = transport.executor
      self.disk = disk
      self.time = time
      self.report = report
    }
  }

  private let shared: Shared

  var request: Request { shared.request }
  var storage: any Storage { shared.storage }
  var options: Options { shared.options }
  /// The executor for slow file operations, such as computing checksums.
  var disk: any PromiseExecutor { shared.disk }
  var time: Time { shared.time }
  var stalls: StallWatch { shared.stalls }
  var mirrors: Mirrors { shared.mirrors }
  func report(_ event: Event) { shared.report(event) }

  /// Creates a downloader.
  ///
  /// - Parameters:
  ///   - disk: The executor for slow file operations, such as computing checksums.
  ///   - report: A closure that is called with each event, on any thread.
  public init(
    transport: any Transport, storage: any Storage, options: Options = Options(),
    disk: any PromiseExecutor = .global, time: Time = .real,
    report: @escaping @Sendable (Event) -> Void = { _ in }
  ) {
    shared = Shared(
      transport: transport, storage: storage, options: options, disk: disk, time: time,
      report: report)
  }

  /// Downloads all files, a limited number at the same time.
  ///
  /// The promise is fulfilled even if some of them fail.
  public func downloadAll(_ files: [Download]) -> Promise<[Outcome]> {
    Promise.all(on: shared.executor, files, concurrently: options.concurrency) { file in
      outcome(of: file)
    }
  }

  /// Downloads one file, and returns a promise for its outcome.
  func outcome(of file: Download) -> Promise<Outcome> {
    let start = time.now()
    return download(file).mapResult(on: .immediate) { result in
      let time = time.now() - start
      let outcome: Outcome
      switch result {
      case .success(let saved): outcome = .saved(saved, time: time)
      case .failure(let error as CancellationError): throw error
      case .failure(let error): outcome = .failed(file, error, time: time)
      }
      report(.ended(outcome))
      return outcome
    }
  }

  /// Downloads one file, unless it exists and must be kept.
  ///
  /// - Parameters:
  ///   - file: The file.
  ///   - failures: The number of times that too many files were open.
  func download(_ file: Download, failures: Int = 0) -> Promise<Saved> {
    // Opening a file is faster than switching threads; computing a checksum isn't.
    file.checksum != nil
      ? Promise(on: disk) { Result { try start(file) } }
        .then(on: .immediate) { proceed($0, file, failures) }
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
  ) -> Promise<Saved> {
    switch start {
    case .success(.present(let size)):
      return .value(Saved(file: file, source: nil, byteCount: size, requests: 0))
    case .success(.missing(let copy)):
      return fetch(copy)
    case .failure(let error as FileFailure)
    where error.isTooManyFiles && failures + 1 < options.policy.attempts:
      let delay = options.policy.delay(failures + 1)
      report(.waiting(file, delay, because: error, askedByServer: false))
      return time.after(delay).then(on: .immediate) { download(file, failures: failures + 1) }
    case .failure(let error):
      return .rejected(error)
    }
  }

  /// Fetches the missing bytes, verifies the file, and renames it to its final name.
  func fetch(_ copy: Copy) -> Promise<Saved> {
    startingOver(copy) { complete(copy) }
      // Renaming a file is faster than switching threads.
      .map(on: .immediate) { try commit(copy) }
      // A partial file that can be resumed is flushed to disk, and any other is removed, even if
      // the download was cancelled.
      .recover(on: .immediate) { error in
        Promise(on: disk) { storage.close(copy.part) }.uncancellable()
          .map(on: .immediate) { throw error }
      }
  }

  private func commit(_ copy: Copy) throws -> Saved {
    try copy.complete()
    try storage.commit(copy.part)
    storage.close(copy.part)
    return Saved(
      file: copy.file, source: copy.source, byteCount: copy.received, requests: copy.requests)
  }

  /// Fetches all missing bytes.
  func complete(_ copy: Copy) -> Promise<Void> {
    let claims = copy.claims
    guard !claims.isEmpty else { return verify(copy) }
    let arrival =
      options.split == 1 && claims.count == 1
      ? inOnePiece(copy) : inSegments(copy)
    return copy.file.checksum == nil ? arrival : arrival.then(on: .immediate) { verify(copy) }
  }

  /// Fetches the missing bytes over one connection.
  private func inOnePiece(_ copy: Copy) -> Promise<Void> {
    persistently(copy) {
      // An earlier attempt may have changed what is missing.
      guard let claim = copy.claims.first else { return .value(()) }
      return connect(copy, claim).then(on: .immediate) { read($0, copy) }
    }
  }

  /// Fetches the missing bytes over several connections.
  private func inSegments(_ copy: Copy) -> Promise<Void> {
    guard let first = copy.claims.first else { return .value(()) }
    return persistently(copy) { connect(copy, first) }
      .then(on: .immediate) { opened in
        // The first response contains the size, which is needed to divide the file.
        if opened.answer.head.servesRanges {
          copy.split(into: options.split, minimum: options.minimumSegment)
        }
        return segments(of: copy, connections: options.split, Handover(opened), for: first)
      }
  }

  /// Fetches the missing segments at the same time.
  ///
  /// If some of them fail, the server may limit connections: after the others are complete, they
  /// are fetched over fewer connections, until nothing arrives in several rounds.
  private func segments(
    of copy: Copy, connections: Int, _ early: Handover<Opened>, for first: Copy.Claim,
    errors: [any Error] = []
  ) -> Promise<Void> {
    let before = copy.mostReceived
    return Promise.all(
      on: .immediate, copy.claims, concurrently: connections, cancellingRest: true
    ) { claim in
      persistently(copy) {
        if claim.start == first.start, let opened = early.take() { return read(opened, copy) }
        return connect(copy, claim).then(on: .immediate) { read($0, copy) }
      }
      .mapResult(on: .immediate) { result -> (any Error)? in
        guard case .failure(let error) = result else { return nil }
        if error is CancellationError || Self.isSpoiled(error) { throw error }
        return error
      }
    }
    .then(on: .immediate) { results in
      let failures = results.compactMap(\.self)
      guard let error = failures.first else { return .value(()) }
      let hasProgressed = copy.mostReceived >= before + Self.progressThatCounts
      let errors = hasProgressed ? [error] : errors + [error]
      // The server may need some time to notice that a connection was closed; an error after
      // several attempts is final.
      let isFinal = errors.count > 1 && ((error as? GivenUp)?.errors.count ?? 1) > 1
      guard !isFinal, errors.count < options.policy.attempts else { throw error }
      return pause(copy, errors).then(on: .immediate) {
        segments(
          of: copy, connections: max(1, connections - failures.count), early, for: first,
          errors: errors)
      }
    }
  }

  /// Compares the file with its checksum.
  func verify(_ copy: Copy) -> Promise<Void> {
    guard copy.file.checksum != nil else { return .value(()) }
    return Promise(on: disk) { try copy.verify() }
      .watch(on: .immediate) { result in
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
  func connect(_ copy: Copy, _ claim: Copy.Claim) -> Promise<Opened> {
    let ranked = mirrors.ranked(copy.file.mirrors, rotation: claim.start / options.minimumSegment)
    let attempt = copy.beginAttempt()
    // With a single mirror there is no race, and a failure is a single error, not an aggregate.
    if ranked.count == 1 { return ask(ranked[0], copy, claim, attempt) }
    return Promise.any(
      ranked.enumerated().map { rank, mirror in
        rank == 0
          ? ask(mirror, copy, claim, attempt)
          : time.after(options.headStart * rank).then(on: .immediate) {
            ask(mirror, copy, claim, attempt)
          }
      })
  }

  /// Requests a segment from one mirror.
  private func ask(
    _ mirror: URL, _ copy: Copy, _ claim: Copy.Claim, _ attempt: Int
  ) -> Promise<Opened> {
    let headers: [String: String]
    do { headers = try copy.headers(for: claim) } catch { return .rejected(error) }
    return request.get(mirror, headers).mapResult(on: .immediate) { result in
      try blaming(mirror) {
        let answer = try mirrors.noting(mirror, result)
        let claim = try copy.accept(answer.head, from: mirror, for: claim, attempt: attempt)
        return Opened(answer: answer, mirror: mirror, claim: claim)
      }
    }
  }

  /// Writes the body of a response to the file, unless it stalls or other mirrors are much faster.
  func read(_ opened: Opened, _ copy: Copy) -> Promise<Void> {
    // The file was already complete.
    guard let claim = opened.claim else { return .value(()) }
    let resume = copy.resume
    report(.started(copy.file, received: resume.received, size: resume.size))
    let meter = Meter(time.now())
    let body = stalls.watch(
      opened.answer.body { bytes in
        try meter.receive(bytes.count, now: time.now) { try copy.write(bytes, claim) }
        report(.received(copy.file, bytes.count))
      }, meter)
    let others = copy.file.mirrors.filter { $0 != opened.mirror }
    let arrival = others.isEmpty ? body : Promise.race(body, outrun(meter, by: others))
    return arrival.mapResult(on: .immediate) { result in
      copy.end(claim)
      mirrors.note(opened.mirror, bytes: meter.count, in: time.now() - meter.start)
      try blaming(opened.mirror) {
        do { try result.get() } catch is EndOfSegment {}
        try copy.finish(claim)
      }
    }
  }

  /// Returns a promise that is rejected once other mirrors would be much faster than a connection.
  func outrun(_ meter: Meter, by others: [URL]) -> Promise<Void> {
    let before = meter.count
    let pause = min(options.stall, .seconds(2))
    return time.after(pause).then(on: .immediate) {
      let speed = Double(meter.count - before) / (pause / .seconds(1))
      if mirrors.isMuchSlower(speed, than: others) { throw TooSlow() }
      return outrun(meter, by: others)
    }
  }

  /// Runs `body`; if it throws an error other than `CancellationError`, records a failure of the
  /// mirror.
  private func blaming<T>(_ mirror: URL, _ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch {
      if !(error is CancellationError) { mirrors.blame(mirror) }
      throw error
    }
  }
}

/// A response that continues a file.
struct Opened: Sendable {
  let answer: any Answer
  let mirror: URL
  /// The segment that the body belongs to; nil if nothing was missing.
  let claim: Copy.Claim?
}
