import Foundation
import Pledge

@testable import fetch

/// A simulated environment for a downloader: its time, servers, and disk.
///
/// All handlers run in place, and all events on the thread that calls `run`, so the seed determines
/// everything that happens, and in which order.
///
/// `@unchecked Sendable`, like the other types of this file: used by only one thread.
final class World: @unchecked Sendable {
  private(set) var now = Duration.zero
  private var happenings: [(time: Duration, action: () -> Void)] = []
  private var dead: [(time: Duration, action: () -> Void)] = []
  var random: SplitMix

  init(seed: UInt64) { random = SplitMix(state: seed) }

  var time: Time {
    Time(
      now: { self.now },
      after: { duration in
        guard duration > .zero else { return .value(()) }
        let (promise, resolver) = Promise<Void>.withResolvers()
        self.schedule(after: duration) { resolver.fulfill() }
        return promise
      })
  }

  func schedule(after delay: Duration, _ action: @escaping () -> Void) {
    let time = now + delay
    let index = happenings.firstIndex { $0.time > time } ?? happenings.endIndex
    happenings.insert((time, action), at: index)
  }

  /// Runs scheduled events until `isDone` returns true or no events are left.
  func run(until isDone: () -> Bool) {
    while !isDone(), !happenings.isEmpty {
      let next = happenings.removeFirst()
      now = max(now, next.time)
      next.action()
    }
  }

  /// Simulates the death of the process: no scheduled event happens, and no promise is rejected as
  /// broken.
  func kill() {
    dead += happenings
    happenings = []
  }
}

/// SplitMix64.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }

  mutating func happens(_ probability: Double) -> Bool {
    Double.random(in: 0..<1, using: &self) < probability
  }
}

struct Reply {
  var status = 200
  var headers: [String: String] = [:]
  var body = Data()
  /// The position at which the body stops; nil if it is complete.
  var stop: Int?
  /// Whether the body stalls at that position; otherwise, the connection breaks.
  var isSilent = false
  var latency = Duration.milliseconds(5)
  /// The time that each piece takes.
  var pause = Duration.milliseconds(1)
}

struct Asked {
  let url: URL
  let headers: [String: String]

  /// Returns a correct response with `content`, or the requested part of it.
  func reply(with content: Data, tag: String?, hasRanges: Bool = true) -> Reply {
    var reply = Reply(headers: hasRanges ? ["accept-ranges": "bytes"] : [:], body: content)
    reply.headers["etag"] = tag
    guard hasRanges, let match = headers["Range"]?.wholeMatch(of: /bytes=(\d+)-(\d*)/),
      let first = Int(match.1), first < content.count, headers["If-Range"] ?? tag == tag
    else { return reply }
    let end = min(content.count, (Int(match.2) ?? content.count - 1) + 1)
    reply.status = 206
    reply.headers["content-range"] = "bytes \(first)-\(end - 1)/\(content.count)"
    reply.body = Data(content).subdata(in: first..<end)
    return reply
  }
}

/// A network in which a closure implements all servers.
final class SimulatedNetwork: Transport, @unchecked Sendable {
  private let world: World
  private let pieceSize: Int
  private let answer: (Asked) throws -> Reply
  private(set) var asked: [Asked] = []
  var executor: any PromiseExecutor = .immediate

  init(_ world: World, pieceSize: Int = 1000, _ answer: @escaping (Asked) throws -> Reply) {
    (self.world, self.pieceSize, self.answer) = (world, pieceSize, answer)
  }

  func get(_ url: URL, headers: [String: String]) -> Promise<any Answer> {
    let request = Asked(url: url, headers: headers)
    asked.append(request)
    let (promise, resolver) = Promise<any Answer>.withResolvers()
    do {
      let reply = try answer(request)
      world.schedule(after: reply.latency) { [world, pieceSize] in
        let length = ["content-length": "\(reply.body.count)"]
        let headers = reply.headers.merging(length) { own, _ in own }.map { ($0, $1) }
        let head = AnswerHead(url: url, status: reply.status, headers: .init(headers))
        resolver.fulfill(
          SimulatedAnswer(head: head, reply: reply, world: world, pieceSize: pieceSize))
      }
    } catch {
      world.schedule(after: .milliseconds(1)) { resolver.reject(error) }
    }
    return promise
  }
}

private struct SimulatedAnswer: Answer, @unchecked Sendable {
  let head: AnswerHead
  let reply: Reply
  let world: World
  let pieceSize: Int

  func body(_ receive: @escaping Receiver) -> Promise<Void> {
    let (promise, resolver) = Promise<Void>.withResolvers()
    send(from: 0, receive, resolver)
    return promise
  }

  private func send(from start: Int, _ receive: @escaping Receiver, _ resolver: Resolver<Void>) {
    let end = min(reply.stop ?? .max, reply.body.count, start + pieceSize)
    world.schedule(after: reply.pause) {
      guard resolver.isPending else { return }
      do {
        let piece = reply.body[(reply.body.startIndex + start)..<(reply.body.startIndex + end)]
        try piece.withUnsafeBytes { if !$0.isEmpty { try receive($0) } }
      } catch {
        resolver.reject(error)
        return
      }
      if end == reply.body.count {
        resolver.fulfill()
      } else if end != reply.stop {
        send(from: end, receive, resolver)
      } else if reply.isSilent {
        // The connection stays open until the client closes it.
        world.schedule(after: .seconds(100_000)) { resolver.reject(ConnectionFailure("late")) }
      } else {
        resolver.reject(ConnectionFailure("the connection broke"))
      }
    }
  }
}

/// A disk in memory, which survives the downloads that use it.
final class SimulatedDisk: Storage, @unchecked Sendable {
  fileprivate(set) var partial: [String: Data] = [:]
  fileprivate var records: [String: ResumeState] = [:]
  private(set) var files: [String: Data] = [:]
  /// Closures that are called before each write, and before a file is opened, and can throw an error.
  var (beforeWrite, beforeOpen): (() throws -> Void, () throws -> Void) = ({}, {})

  var partialNames: Set<String> { Set(partial.keys) }

  func present(_ file: Download) throws -> Int? {
    guard let bytes = files[file.name], Checksum(of: bytes) == file.checksum else { return nil }
    return bytes.count
  }

  func open(_ name: String) throws -> any Part {
    try beforeOpen()
    return SimulatedPart(disk: self, name: name)
  }

  func close(_ part: any Part) {
    guard let part = part as? SimulatedPart, part.isBegun else { return }
    if let latest = part.latest, latest.received > 0 { records[part.name] = latest }
    if records[part.name] == nil { partial[part.name] = nil }
  }

  func commit(_ part: any Part) throws {
    guard let name = (part as? SimulatedPart)?.name else { return }
    files[name] = partial.removeValue(forKey: name)
    records[name] = nil
  }
}

private final class SimulatedPart: Part, @unchecked Sendable {
  let name: String
  let leftover: ResumeState?
  private(set) var latest: ResumeState?
  private(set) var isBegun = false
  private let disk: SimulatedDisk

  init(disk: SimulatedDisk, name: String) {
    (self.disk, self.name, leftover) = (disk, name, disk.records[name])
  }

  func begin(_ resume: ResumeState) {
    isBegun = true
    disk.partial[name] = disk.partial[name, default: Data()].prefix(resume.end)
    if resume.end == 0 { disk.records[name] = nil }
  }

  func write(_ bytes: UnsafeRawBufferPointer, at position: Int) throws {
    try disk.beforeWrite()
    guard isBegun, var data = disk.partial[name] else { throw FileFailure(.write, name, EBADF) }
    disk.partial[name] = nil
    data.append(Data(count: max(0, position + bytes.count - data.count)))
    data.replaceSubrange(position..<(position + bytes.count), with: bytes)
    disk.partial[name] = data
  }

  func save(_ resume: ResumeState) { (disk.records[name], latest) = (resume, nil) }
  func keep(_ resume: ResumeState) { latest = resume }

  func restart() {
    guard isBegun else { return }
    (disk.partial[name], disk.records[name], latest) = (Data(), nil, nil)
  }

  func checksum() -> Checksum { Checksum(of: disk.partial[name] ?? Data()) }
}
