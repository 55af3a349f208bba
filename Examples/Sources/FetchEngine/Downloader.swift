import FetchSupport
import Foundation
import Pledge
import PledgeFoundation

/// Downloads files.
///
/// Each method is one policy, written as a chain; read them from top to bottom.
public struct Downloader: Sendable {
  let transport: any Transport
  let storage: any Storage
  let options: Options
  /// Where files are read for their checksums, and where the disk is waited for.
  let disk: any PromiseExecutor
  let time: Time
  let report: @Sendable (Event) -> Void
  let mirrors = Mirrors()
  let hosts: HostLimits

  /// Creates a downloader.
  ///
  /// - Parameters:
  ///   - transport: What sends requests.
  ///   - storage: Where files go.
  ///   - options: The policies.
  ///   - disk: Where files are read for their checksums, and where the disk is waited for.
  ///   - time: The clock.
  ///   - report: Called with each event, on any thread.
  public init(
    transport: any Transport, storage: any Storage, options: Options = Options(),
    disk: any PromiseExecutor = .global, time: Time = .real,
    report: @escaping @Sendable (Event) -> Void = { _ in }
  ) {
    self.transport = transport
    self.storage = storage
    self.options = options
    self.disk = disk
    self.time = time
    self.report = report
    hosts = HostLimits(options.connectionsPerHost)
  }

  /// Downloads all files, a limited number at the same time.
  ///
  /// The promise is fulfilled even if some of them fail.
  public func downloadAll(_ files: [Download]) -> Promise<[Outcome]> {
    Promise.all(on: .immediate, files, concurrently: options.concurrency) { file in
      outcome(of: file)
    }
  }

  /// Downloads one file, and tells how that ended.
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
  func download(_ file: Download) -> Promise<Saved> {
    Promise(on: place(isSlow: file.checksum != nil)) { () -> Start in
      if let size = try storage.present(file) { return .present(byteCount: size) }
      return .missing(Copy(file, try storage.open(file.name)))
    }
    .then(on: .immediate) { start in
      switch start {
      case .present(let size):
        .value(Saved(file: file, source: nil, byteCount: size, requests: 0))
      case .missing(let copy): fetch(copy)
      }
    }
  }

  /// Where to work on a file: opening or renaming it is faster than a change of threads.
  private func place(isSlow: Bool) -> any PromiseExecutor { isSlow ? disk : .immediate }

  private enum Start {
    case present(byteCount: Int)
    case missing(Copy)
  }

  /// Fetches what is missing, verifies the file, and gives it its name.
  func fetch(_ copy: Copy) -> Promise<Saved> {
    startingOver(copy) { complete(copy) }
      .map(on: place(isSlow: storage.isSyncing)) {
        try storage.commit(copy.part)
        return Saved(
          file: copy.file, source: copy.source, byteCount: copy.received, requests: copy.requests)
      }
      // What can be continued is stored by the disk, and the rest is removed.
      .finally(on: .immediate) { () -> Promise<Void> in
        guard copy.part.isOpen else {
          storage.close(copy.part)
          return .value(())
        }
        return Promise(on: disk) { storage.close(copy.part) }
      }
  }

  /// Fetches all that is missing, over several connections if that is wanted.
  func complete(_ copy: Copy) -> Promise<Void> {
    guard let first = copy.claims.first else { return verify(copy) }
    report(.started(copy.file, copy.resume))
    return persistently(copy) { connect(copy, first) }
      .then(on: .immediate) { opened in
        // The first answer has told the size, and so what there is to divide.
        if opened.answer.head.servesRanges {
          copy.split(into: options.split, minimum: options.minimumSegment)
        }
        let early = Handover(opened)
        return Promise.all(
          on: .immediate, copy.claims, concurrently: options.split, cancellingRest: true
        ) { claim in
          persistently(copy) {
            if claim.start == first.start, let opened = early.take() { return read(opened, copy) }
            return connect(copy, claim).then(on: .immediate) { read($0, copy) }
          }
        }
      }
      .then(on: .immediate) { _ in verify(copy) }
  }

  /// Compares the file with its checksum.
  func verify(_ copy: Copy) -> Promise<Void> {
    guard copy.file.checksum != nil else { return .value(()) }
    return Promise(on: disk) { try copy.verify() }
      .tap(on: .immediate) { result in
        guard case .failure(let error) = result, error is ChecksumMismatch else { return }
        if let sole = copy.soleMirror {
          mirrors.blameForWrongFile(sole)
        } else {
          // The checksum doesn't show which of them it was.
          for mirror in copy.mirrors { mirrors.blame(mirror) }
        }
      }
  }

  /// Asks the mirrors for a segment, each a little later than the one before it.
  ///
  /// The first good answer wins, and the other requests are cancelled.
  func connect(_ copy: Copy, _ claim: Copy.Claim) -> Promise<Opened> {
    let ranked = mirrors.ranked(copy.file.mirrors, rotation: claim.start / options.minimumSegment)
    let request = Request(
      transport: transport, time: time, patience: options.stall, settings: options.settings,
      hosts: hosts)
    let attempt = copy.beginAttempt()
    let requests = ranked.enumerated().map { rank, mirror in
      (rank == 0 ? .value(()) : time.after(options.headStart * rank))
        .then(on: .immediate) { try request.get(mirror, copy.headers(for: claim)) }
        .map(on: .immediate) { answer in
          let claim = try copy.accept(answer.head, from: mirror, for: claim, attempt: attempt)
          return Opened(answer: answer, mirror: mirror, claim: claim)
        }
        .tap(on: .immediate) { result in
          if case .failure(let error) = result, !(error is CancellationError) {
            mirrors.blame(mirror)
          }
        }
    }
    // Without mirrors there is no race, and one error.
    return requests.count == 1 ? requests[0] : Promise.any(requests)
  }

  /// Writes the body of an answer to the file, unless it stalls or is outrun by other mirrors.
  func read(_ opened: Opened, _ copy: Copy) -> Promise<Void> {
    // The file was whole already.
    guard let claim = opened.claim else { return .value(()) }
    report(.started(copy.file, copy.resume))
    let meter = Meter(time.now())
    let body = opened.answer.body { bytes in
      try copy.write(bytes, claim)
      meter.add(bytes.count, at: time.now())
      report(.received(copy.file, claim.start, bytes.count))
    }
    .replaceError(on: .immediate, only: EndOfSegment.self) { (_) -> Void in }
    return Promise.race(body, silence(meter, opened, copy))
      .tap(on: .immediate) { _ in copy.end(claim) }
      .map(on: .immediate) { try copy.finish(claim) }
      .tap(on: .immediate) { result in
        report(.disconnected(copy.file, claim.start))
        mirrors.note(opened.mirror, bytes: meter.count, in: time.now() - meter.start)
        if case .failure(let error) = result, !(error is CancellationError) {
          mirrors.blame(opened.mirror)
        }
      }
  }

  /// Rejected once nothing has arrived for too long, or far less than other mirrors would send.
  func silence(_ meter: Meter, _ opened: Opened, _ copy: Copy) -> Promise<Void> {
    let quiet = time.now() - meter.last
    guard quiet < options.stall else { return .rejected(Stalled(duration: options.stall)) }
    let others = copy.file.mirrors.filter { $0 != opened.mirror }
    let pause = others.isEmpty ? options.stall - quiet : min(options.stall - quiet, .seconds(2))
    let before = meter.count
    return time.after(pause).then(on: .immediate) {
      let speed = Double(meter.count - before) / (pause / .seconds(1))
      if mirrors.isMuchSlower(speed, than: others) { throw TooSlow() }
      return silence(meter, opened, copy)
    }
  }
}

/// An answer that fits to what is here of a file.
struct Opened: Sendable {
  let answer: any Answer
  let mirror: URL
  /// The segment that the body belongs to; nil if nothing was missing.
  let claim: Copy.Claim?
}
